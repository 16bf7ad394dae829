// What is to be said of the chosen row of a tree: its path, its figures, its values over ranks, and where to go on.

import {element, clear} from './elements.js';
import {percent, quantity} from './numbers.js';
import {rankPanel} from './rank_plot.js';

export class Details {
  constructor(data) {
    this.data = data;
    this.node = element('aside', {class: 'details', 'aria-label': 'the chosen row'});
    this.chosen = null;
    let drawn = 0;
    new ResizeObserver(() => {
      if (this.chosen && Math.abs(this.node.clientWidth - drawn) > 8) {
        drawn = this.node.clientWidth;
        this.show(this.chosen.tree, this.chosen.row);
      }
    }).observe(this.node);
  }

  show(treeName, row) {
    this.chosen = {tree: treeName, row};
    if (this.node.clientWidth === 0) return;
    const tree = this.data.trees[treeName];
    const parts = [
      element('h3', {class: tree.isWait(row) ? 'wait' : '', text: tree.fullName(row)}),
      this.whereText(tree, row),
      this.links(treeName, tree, row),
      rankPanel(this.data, treeName, row, {width: Math.max(240, this.node.clientWidth - 26), height: 170}),
      this.figures(tree, row),
      this.path(treeName, tree, row),
    ];
    clear(this.node).append(...parts.filter(Boolean));
  }

  whereText(tree, row) {
    const file = tree.file(row);
    const place = file ? `${file}${tree.line(row) > 0 ? `:${tree.line(row)}` : ''}` : '';
    const text = [tree.kind(row), tree.remark(row)].filter(Boolean).join(' ');
    return element('p', {class: 'where'}, element('span', {text}), place ? element('span', {class: 'place', text: place}) : null);
  }

  links(treeName, tree, row) {
    const source = this.data.sourceOf.get(tree.file(row));
    return element('p', {class: 'links'},
      treeName === 'flat' ? null : element('a', {class: 'button', href: `#flame/${treeName}/${row}`, text: 'Flame graph'}),
      element('a', {class: 'button', href: `#ranks/${treeName}/${row}`, text: `Over ${this.data.each}`}),
      source === undefined ? null : element('a', {class: 'button', href: `#source/${source}/${tree.line(row)}`, text: 'Source'}));
  }

  figures(tree, row) {
    const table = element('table', {class: 'figures'});
    this.data.columns.forEach((column, index) => {
      const value = tree.value(row, index);
      if (Number.isNaN(value) || value === 0) return;
      const share = column.additive && column.whole > 0 ? percent(value / column.whole) : '';
      table.append(element('tr', {title: `${column.title}: ${column.meaning}`},
        element('td', {text: column.heading}),
        element('td', {class: 'number', text: quantity(value, column.unit)}),
        element('td', {class: 'number dim', text: share})));
    });
    return table;
  }

  path(treeName, tree, row) {
    const list = element('ol', {class: 'path'});
    for (const each of tree.path(row).slice(0, -1))
      list.append(element('li', {}, element('a', {href: `#${treeName}/${each}`, text: tree.name(each)})));
    return list.children.length > 0 ? element('div', {}, element('h4', {text: treeName === 'callers' ? 'Callers of' : 'Path'}), list) : null;
  }
}
