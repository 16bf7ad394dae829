// A tab with a tree, what can be chosen of it, and the details of the chosen row.

import {element, dropdown} from './elements.js';
import {TreeView} from './tree_view.js';
import {Details} from './details.js';
import {counted, grouped} from './numbers.js';

const LEVELS = [
  {key: 0, text: 'load modules'},
  {key: 1, text: 'files'},
  {key: 2, text: 'procedures'},
];

export class TreeTab {
  constructor(data, name, onChoice) {
    this.data = data;
    this.name = name;
    this.details = new Details(data);
    this.view = new TreeView(data, name, {
      onChoice: (row) => {
        this.details.show(name, row);
        onChoice(name, row);
      },
    });
    this.field = element('input', {type: 'search', placeholder: 'search (/)', 'aria-label': `search the names of ${name}`, oninput: () => this.search(), onkeydown: (event) => this.fieldKey(event)});
    this.count = element('span', {class: 'dim count', 'aria-live': 'polite'});
    this.only = element('input', {type: 'checkbox', onchange: () => this.search()});
    const button = (text, title, onclick) => element('button', {type: 'button', text, title, onclick: () => { onclick(); this.view.body.focus(); }});
    this.node = element('div', {class: 'tree-tab'},
      element('div', {class: 'toolbar'},
        this.field, this.count, element('label', {class: 'check'}, this.only, ' only these'),
        element('span', {class: 'spacer'}),
        name === 'flat' ? dropdown('Rows are', LEVELS, 2, (level) => { this.view.outline.level = level; this.view.outline.refresh(); this.view.layOut(); }) : null,
        name === 'calls' ? button('hot path', 'H', () => this.view.go(this.view.outline.openHotPath(this.view.chosen))) : null,
        button('close all', '-', () => this.view.closeAll()),
        this.columnChoice()),
      element('div', {class: 'tree-and-details'}, this.view.node, this.details.node),
      this.leftOut());
  }

  columnChoice() {
    const list = element('div', {class: 'menu-list'});
    this.data.columns.forEach((column, index) => {
      if (this.data.trees[this.name].raw.values[index] === null) return;
      const box = element('input', {type: 'checkbox', checked: index < this.data.columnsShown || null, onchange: () => {
        const chosen = [...list.querySelectorAll('input')].filter((each) => each.checked).map((each) => Number(each.dataset.column));
        this.view.setColumns(chosen);
      }, 'data-column': String(index)});
      list.append(element('label', {class: 'check', title: `${column.title}: ${column.meaning}`}, box, ` ${column.heading}`));
    });
    return element('details', {class: 'menu'}, element('summary', {text: 'columns'}), list);
  }

  leftOut() {
    const {tree} = this.view;
    const {contexts} = this.data.run;
    const all = this.name === 'calls' ? ` of a run with ${counted(contexts, 'calling context')}` : '';
    const text = tree.leftOut > 0
      ? `The page has the ${grouped(tree.size)} heaviest rows${all}; smaller ones are left out, and counted where they belong.`
      : `All rows with samples${all}.`;
    return element('p', {class: 'left-out-note', text});
  }

  search() {
    const number = this.view.search(this.field.value, this.only.checked);
    this.count.textContent = this.field.value === '' ? '' : number === 0 ? 'nothing matches' : `${grouped(number)} found`;
  }
  next(step) {
    const place = this.view.next(step);
    if (place > 0) this.count.textContent = `${grouped(place)} of ${grouped(this.view.found.length)}`;
  }
  fieldKey(event) {
    if (event.key === 'Enter') {
      event.preventDefault();
      this.next(event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
      this.field.value = '';
      this.search();
      this.view.body.focus();
    }
  }

  draw() {
    this.view.rowHeight = window.matchMedia('(pointer: coarse)').matches ? 32 : 22;
    this.view.layOut();
    this.view.intoSight();
    if (this.view.chosen >= 0) this.details.show(this.name, this.view.chosen);
  }
  focus() {
    this.view.body.focus({preventScroll: true});
  }
}
