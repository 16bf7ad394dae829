// A view as a tree of rows: numbers, then what they are of. Only the rows in sight are elements.

import {element, clear, showTip} from './elements.js';
import {scaleFor, percent, quantity, counted} from './numbers.js';

const ROW_HEIGHT = () => (window.matchMedia('(pointer: coarse)').matches ? 32 : 22);
const INDENT = () => (window.innerWidth < 600 ? 8 : 13); // pixels a level
const LETTER = 7.6; // pixels of a name's letter
const LEFT_OUT = -2; // rows below this stand for what the page does not have: of row -n - 2

/** Which rows are shown, and which of them is chosen. Knows no elements. */
export class Outline {
  /** @param {import('./run_data.js').Tree} tree */
  constructor(tree) {
    this.tree = tree;
    this.open = new Set();
    this.level = 0; // of the view's roots that is shown as roots
    this.kept = null; // rows that a filter lets through; null: all
    this.refresh();
  }

  roots() {
    let rows = this.tree.roots;
    for (let level = 0; level < this.level; level += 1)
      rows = rows.flatMap((row) => (this.tree.below[row] === null ? [row] : this.tree.below[row]));
    return this.tree.inOrder(rows);
  }

  /** Forms the rows anew: `{row, depth, last}`; the row of what was left out is below LEFT_OUT. */
  refresh() {
    this.rows = [];
    const add = (rows, depth) => {
      const shown = this.kept ? rows.filter((row) => this.kept.has(row)) : rows;
      for (const row of shown) {
        this.rows.push({row, depth});
        if (!this.open.has(row)) continue;
        const children = this.tree.children(row);
        const alone = children.length === 1 && !this.tree.left.has(row);
        add(children, alone ? depth : depth + 1);
        if (this.tree.left.has(row) && !this.kept) this.rows.push({row: LEFT_OUT - row, depth: depth + 1});
      }
    };
    add(this.roots(), 0);
    this.place = new Map(this.rows.map(({row}, index) => [row, index]));
  }

  /** Opens a row, and as long as it has one child, that too. */
  expand(row) {
    for (let at = row; ; ) {
      this.open.add(at);
      const children = this.tree.children(at);
      if (children.length !== 1) break;
      [at] = children;
    }
    this.refresh();
  }
  collapse(row) {
    this.open.delete(row);
    this.refresh();
  }
  collapseAll() {
    this.open.clear();
    this.refresh();
  }
  expandBelow(row, levels, most = 5000) {
    let rows = [row];
    for (let level = 0; level < levels && rows.length > 0 && this.open.size < most; level += 1) {
      for (const each of rows) this.open.add(each);
      rows = rows.flatMap((each) => this.tree.children(each));
    }
    this.refresh();
  }
  openHotPath(row) {
    const path = this.tree.hotPath(row);
    for (const each of path) if (this.tree.hasChildren(each) && each !== path[path.length - 1]) this.open.add(each);
    this.refresh();
    return path[path.length - 1];
  }
  /** Opens the way to a row. */
  reveal(row) {
    const path = this.tree.path(row);
    if (this.level >= path.length) this.level = 0;
    for (const each of path.slice(0, -1)) this.open.add(each);
    if (this.kept && !this.kept.has(row)) this.kept = null;
    this.refresh();
  }
  /** Only paths through these rows; null: all. */
  filter(found) {
    this.kept = null;
    if (found) {
      this.kept = new Set();
      const keepBelow = (row) => {
        this.kept.add(row);
        for (const child of this.tree.below[row] ?? []) keepBelow(child);
      };
      for (const row of found) {
        for (const each of this.tree.path(row)) this.kept.add(each);
        if (found.length < 2000) keepBelow(row);
        for (const each of this.tree.path(row).slice(0, -1)) this.open.add(each);
      }
    }
    this.refresh();
  }
}

/** Shortens a name to at most `letters` letters, if it can, by removing its outer qualifiers: names differ least in these. */
export function withoutQualifiers(name, letters) {
  let rest = name;
  while (rest.length > letters && /^[\w~]+::./.test(rest)) rest = rest.slice(rest.indexOf('::') + 2);
  return rest === name ? name : `…${rest}`;
}

/** Finds rows by name: a regular expression, or, where it is none, the text itself. Case counts with a capital. */
export function findRows(tree, pattern) {
  if (pattern === '') return [];
  const flags = /[A-Z]/.test(pattern) ? '' : 'i';
  let expression;
  try {
    expression = new RegExp(pattern, flags);
  } catch {
    expression = new RegExp(pattern.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags);
  }
  const known = new Map(); // names repeat
  const found = [];
  for (let row = 0; row < tree.size; row += 1) {
    const name = tree.raw.full[row];
    if (!known.has(name)) known.set(name, expression.test(tree.texts[name]));
    if (known.get(name)) found.push(row);
  }
  return found;
}

export class TreeView {
  /**
   * @param {import('./run_data.js').RunData} data
   * @param {string} name `calls`, `callers` or `flat`
   * @param {{onChoice: (row: number) => void, onOpen?: (row: number) => void}} hooks
   */
  constructor(data, name, hooks) {
    this.data = data;
    this.name = name;
    this.tree = data.trees[name];
    this.hooks = hooks;
    this.columns = data.columns.map((_, index) => index).slice(0, data.columnsShown);
    this.outline = new Outline(this.tree);
    if (name === 'flat') this.outline.level = 2;
    this.chosen = -1;
    this.found = [];
    this.rowHeight = ROW_HEIGHT();
    this.header = element('div', {class: 'tree-header', role: 'row'});
    this.canvas = element('div', {class: 'tree-canvas'});
    this.body = element('div', {
      class: 'tree-body',
      role: 'treegrid',
      tabindex: '0',
      'aria-label': `${name}: costs as a tree`,
      onscroll: () => this.draw(),
      onkeydown: (event) => this.key(event),
    });
    this.body.append(this.canvas);
    this.node = element('div', {class: 'tree'}, this.header, this.body);
    new ResizeObserver(() => this.layOut()).observe(this.body);
    this.openFirst();
  }

  openFirst() {
    this.outline.refresh();
    const roots = this.outline.roots();
    if (roots.length === 0) return;
    if (this.name !== 'calls') {
      this.choose(roots[0], false);
      return;
    }
    const end = this.outline.openHotPath(roots[0]);
    if (!this.tree.isWait(end)) this.outline.expand(end); // what comes next, where it divides
    this.choose(end, false);
  }

  // -- columns ------------------------------------------------------------------------------------------------

  setColumns(columns) {
    this.columns = columns.length > 0 ? columns : [0];
    if (!this.columns.includes(this.tree.sort)) this.sortBy(this.columns[0]);
    this.layOut();
  }
  sortBy(column) {
    this.tree.sortBy(column);
    this.outline.refresh();
    this.layOut();
  }
  sortNext(step) {
    const at = this.columns.indexOf(this.tree.sort);
    this.sortBy(this.columns[(at + step + this.columns.length) % this.columns.length]);
  }

  /** The columns that fit, each with how it is written. */
  fitting() {
    const times = this.columns.filter((each) => this.data.columns[each].unit === 's');
    const longest = Math.max(...times.map((each) => this.data.columns[each].whole), 0);
    const room = this.body.clientWidth * (this.body.clientWidth < 560 ? 0.42 : 0.6);
    const cells = [];
    let taken = 0;
    const add = (cell) => {
      const digits = Math.max(cell.heading.length * 7 + 16, cell.widest.length * 8.6 + 14, 40);
      if (cells.length > 0 && taken + digits > room) return false;
      cells.push({...cell, width: Math.round(digits)});
      taken += digits;
      return true;
    };
    for (const index of this.columns) {
      const column = this.data.columns[index];
      const scale = scaleFor(column.unit === 's' ? longest : column.whole, column.unit);
      const heading = column.heading + (scale.unit ? ` ${scale.unit}` : '');
      if (!add({index, column, heading, share: false, write: scale.write, widest: scale.write(column.whole)})) break;
      if (index === this.tree.sort && column.additive && column.whole > 0)
        if (!add({index, column, heading: '%', share: true, write: (value) => (100 * value).toFixed(1), widest: '100.0'})) break;
    }
    return cells;
  }

  // -- drawing ------------------------------------------------------------------------------------------------

  layOut() {
    this.cells = this.fitting();
    this.template = `${this.cells.map((cell) => `${cell.width}px`).join(' ')} minmax(0, 1fr)`;
    clear(this.header);
    this.header.style.gridTemplateColumns = this.template;
    for (const cell of this.cells) {
      const sorted = cell.index === this.tree.sort && !cell.share;
      this.header.append(
        element('button', {
          type: 'button',
          class: `cell-head${cell.index === this.tree.sort ? ' sorted' : ''}`,
          text: cell.heading,
          title: `${cell.column.title}: ${cell.column.meaning}`,
          role: 'columnheader',
          'aria-sort': sorted ? 'descending' : null,
          onclick: () => this.sortBy(cell.index),
        }),
      );
    }
    const restricted = this.outline.kept ? ' · filtered' : '';
    this.header.append(element('span', {class: 'name-head', text: `${this.tree.view}${restricted}`}));
    this.draw();
  }

  draw() {
    if (!this.cells) return;
    const {rows} = this.outline;
    this.canvas.style.height = `${rows.length * this.rowHeight}px`;
    const first = Math.max(0, Math.floor(this.body.scrollTop / this.rowHeight) - 6);
    const last = Math.min(rows.length, Math.ceil((this.body.scrollTop + this.body.clientHeight) / this.rowHeight) + 6);
    const made = [];
    for (let index = first; index < last; index += 1) made.push(this.rowElement(index));
    this.canvas.replaceChildren(...made);
    this.body.setAttribute('aria-rowcount', String(rows.length));
    const at = this.outline.place.get(this.chosen);
    if (at !== undefined && at >= first && at < last) this.body.setAttribute('aria-activedescendant', `${this.name}-${this.chosen}`);
    else this.body.removeAttribute('aria-activedescendant');
  }

  rowElement(index) {
    const {row, depth} = this.outline.rows[index];
    const made = element('div', {class: 'tree-row', role: 'row', 'aria-level': String(depth + 1)});
    made.style.top = `${index * this.rowHeight}px`;
    made.style.height = `${this.rowHeight}px`;
    made.style.gridTemplateColumns = this.template;
    if (row <= LEFT_OUT) return this.leftOutRow(made, LEFT_OUT - row, depth);
    const opens = this.tree.hasChildren(row);
    const open = this.outline.open.has(row);
    made.id = `${this.name}-${row}`;
    if (row === this.chosen) made.classList.add('chosen');
    made.setAttribute('aria-selected', String(row === this.chosen));
    if (opens) made.setAttribute('aria-expanded', String(open));
    for (const cell of this.cells) made.append(this.numberCell(cell, row));
    const name = element('span', {class: 'name', role: 'gridcell'});
    name.style.paddingLeft = `${4 + depth * INDENT()}px`;
    name.append(
      element('span', {class: `sign${opens ? '' : ' none'}`, text: opens ? (open ? '▾' : '▸') : '·', 'aria-hidden': 'true'}),
      this.nameElement(row, depth),
      element('span', {class: 'remark', text: this.tree.remark(row)}),
    );
    name.title = this.tree.fullName(row);
    made.append(name);
    made.addEventListener('click', (event) => {
      this.choose(row);
      if (opens && (event.target.classList.contains('sign') || event.detail === 2)) this.toggle(row);
    });
    return made;
  }

  nameElement(row, depth) {
    const kind = this.tree.isWait(row) ? ' wait' : this.tree.isRunTime(row) ? ' library' : '';
    const made = element('span', {class: `frame${kind}${this.foundSet?.has(row) ? ' found' : ''}`});
    const room = this.body.clientWidth - this.cells.reduce((sum, cell) => sum + cell.width, 0) - depth * INDENT() - 34;
    const arrow = this.name === 'callers' && this.tree.parent(row) >= 0 ? '← ' : '';
    made.textContent = arrow + withoutQualifiers(this.tree.name(row), room / LETTER - arrow.length);
    return made;
  }

  numberCell(cell, row) {
    const value = this.tree.value(row, cell.index);
    const share = cell.column.additive && cell.column.whole > 0 ? value / cell.column.whole : 0;
    const made = element('span', {class: `number${share >= 0.25 ? ' hot' : share >= 0.05 ? ' warm' : ''}`, role: 'gridcell'});
    if (Number.isNaN(value)) made.textContent = 'n/a';
    else if (value !== 0) made.textContent = cell.write(cell.share ? share : value);
    if (cell.share && share > 0) {
      const bar = element('span', {class: 'share-bar', 'aria-hidden': 'true'});
      bar.style.width = `${Math.min(100, 100 * share)}%`;
      made.append(bar);
    }
    return made;
  }

  leftOutRow(made, of, depth) {
    const {count, value} = this.tree.left.get(of);
    made.classList.add('left-out');
    for (const _ of this.cells) made.append(element('span', {class: 'number'}));
    const name = element('span', {class: 'name', text: `${counted(count, 'smaller row')} not on this page, ${quantity(value, this.data.columns[0].unit)} together`});
    name.style.paddingLeft = `${17 + depth * INDENT()}px`;
    made.append(name);
    return made;
  }

  // -- choosing -----------------------------------------------------------------------------------------------

  choose(row, tell = true) {
    this.chosen = row;
    this.draw();
    if (tell) this.hooks.onChoice(row);
  }
  toggle(row) {
    if (!this.tree.hasChildren(row)) return;
    if (this.outline.open.has(row)) this.outline.collapse(row);
    else this.outline.expand(row);
    this.draw();
  }
  /** Opens the way to a row, chooses it and brings it into sight. */
  go(row, tell = true) {
    this.outline.reveal(row);
    this.choose(row, tell);
    this.intoSight();
  }
  intoSight() {
    const index = this.outline.place.get(this.chosen);
    if (index === undefined) return;
    const top = index * this.rowHeight;
    const {scrollTop, clientHeight} = this.body;
    if (top < scrollTop + this.rowHeight) this.body.scrollTop = Math.max(0, top - clientHeight / 3);
    else if (top + 2 * this.rowHeight > scrollTop + clientHeight) this.body.scrollTop = top - (2 * clientHeight) / 3;
    this.draw();
  }
  move(step) {
    const {rows} = this.outline;
    let index = (this.outline.place.get(this.chosen) ?? -1) + step;
    index = Math.max(0, Math.min(rows.length - 1, index));
    while (index > 0 && index < rows.length - 1 && rows[index].row <= LEFT_OUT) index += Math.sign(step) || 1;
    if (rows[index] && rows[index].row > LEFT_OUT) this.choose(rows[index].row);
    this.intoSight();
  }

  // -- search -------------------------------------------------------------------------------------------------

  /** Marks what matches; says how many do. With `only`, other paths are left out. */
  search(pattern, only) {
    this.found = findRows(this.tree, pattern);
    this.foundSet = new Set(this.found);
    this.outline.filter(only && pattern !== '' ? this.found : null);
    this.layOut();
    return this.found.length;
  }
  /** Goes to the next one (or the one before); its place among all, from 1 on. */
  next(step) {
    if (this.found.length === 0) return 0;
    const order = this.preOrder();
    const sorted = this.sortedFound(order);
    const now = order.get(this.chosen) ?? -1;
    let index = step > 0 ? sorted.findIndex((row) => order.get(row) > now) : sorted.findLastIndex((row) => order.get(row) < now);
    if (index < 0) index = step > 0 ? 0 : sorted.length - 1;
    this.go(sorted[index]);
    return index + 1;
  }
  sortedFound(order) {
    return [...this.found].sort((a, b) => order.get(a) - order.get(b));
  }
  preOrder() {
    const order = new Map();
    const stack = [...this.outline.roots()].reverse();
    while (stack.length > 0) {
      const row = stack.pop();
      order.set(row, order.size);
      const children = this.tree.children(row);
      for (let at = children.length - 1; at >= 0; at -= 1) stack.push(children[at]);
    }
    return order;
  }

  // -- keys ---------------------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.body.clientHeight / this.rowHeight) - 1);
    const row = this.chosen;
    const actions = {
      ArrowDown: () => this.move(1),
      j: () => this.move(1),
      ArrowUp: () => this.move(-1),
      k: () => this.move(-1),
      PageDown: () => this.move(page),
      PageUp: () => this.move(-page),
      ' ': () => this.move(page),
      Home: () => this.move(-this.outline.rows.length),
      End: () => this.move(this.outline.rows.length),
      ArrowRight: () => this.right(row),
      l: () => this.right(row),
      ArrowLeft: () => this.left(row),
      h: () => this.left(row),
      Enter: () => this.toggle(row),
      H: () => this.go(this.outline.openHotPath(row)),
      '+': () => this.openBelow(row, 2),
      '*': () => this.openBelow(row, 100),
      '-': () => this.closeAll(),
      '<': () => this.sortNext(-1),
      ',': () => this.sortNext(-1),
      '>': () => this.sortNext(1),
      '.': () => this.sortNext(1),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
  right(row) {
    if (!this.outline.open.has(row)) this.toggle(row);
    else this.move(1);
  }
  left(row) {
    if (this.outline.open.has(row) && this.tree.hasChildren(row)) {
      this.toggle(row);
    } else {
      const parent = this.tree.parent(row);
      if (parent >= 0 && this.outline.place.has(parent)) this.choose(parent);
      this.intoSight();
    }
  }
  openBelow(row, levels) {
    this.outline.expandBelow(row, levels);
    this.draw();
  }
  closeAll() {
    const [root] = this.tree.path(this.chosen);
    this.outline.collapseAll();
    this.choose(this.outline.place.has(this.chosen) ? this.chosen : this.outline.place.has(root) ? root : this.outline.rows[0]?.row ?? -1);
    this.intoSight();
  }
}
