// Flame and icicle graphs: frames as wide as their share, by calling context or by callers.

import {hierarchy, partition} from 'd3-hierarchy';
import {select} from 'd3-selection';
import {element, clear, segmented, dropdown, showTip} from './elements.js';
import {percent, quantity} from './numbers.js';
import {frameColour} from './colours.js';
import {findRows} from './tree_view.js';

const LEVEL = 20; // pixels
const LEAST = 0.6; // pixels of a frame that is drawn
const LETTER = 6.1; // pixels, about
const WHOLE = -1; // all code, by who calls it

/** The frames below a row, each with its value; waits keep what is below them. */
export function frameTree(data, callers, column, root) {
  const tree = data.trees[callers ? 'callers' : 'calls'];
  const own = callers ? data.columns.findIndex((each) => each.title === data.columns[column].title.replace('(I)', '(E)')) : -1;
  // By callers a procedure is as wide as what it takes itself, a wait as all that it takes.
  const valueOf = (row, wait) => {
    const value = tree.value(row, callers && !wait && own >= 0 ? own : column);
    return Number.isNaN(value) ? 0 : value;
  };
  const waitAt = (row) => callers && tree.isWait(tree.path(row)[0]);
  const make = (row, wait, value) => ({row, wait, value});
  const children = (node) => {
    const rows = node.row === WHOLE ? tree.roots : (tree.below[node.row] ?? []);
    return rows
      .map((row) => make(row, node.row === WHOLE ? waitAt(row) : node.wait, valueOf(row, node.row === WHOLE ? waitAt(row) : node.wait)))
      .filter((each) => each.value > 0);
  };
  let top;
  if (root !== null) top = make(root, waitAt(root), valueOf(root, waitAt(root)));
  else if (!callers && tree.roots.length === 1) top = make(tree.roots[0], false, valueOf(tree.roots[0], false));
  else top = make(WHOLE, false, tree.roots.reduce((sum, row) => sum + valueOf(row, waitAt(row)), 0));
  return {tree, top, children};
}

/** Lays frames out in `width` pixels; what would be narrower than a pixel is left out. */
export function layOutFrames({top, children}, width) {
  const least = (top.value / width) * LEAST;
  const root = hierarchy(top, (node) => children(node).filter((each) => each.value >= least));
  root.each((node) => {
    node.value = node.data.value;
  });
  root.sort((a, b) => b.value - a.value);
  // Rows that were left out, and rounding: children never are wider than what they stand below.
  root.each((node) => {
    if (!node.children) return;
    const sum = node.children.reduce((all, child) => all + child.value, 0);
    if (sum > node.value) for (const child of node.children) child.value *= node.value / sum;
  });
  return partition().size([width, (root.height + 1) * LEVEL])(root);
}

export class FlameTab {
  constructor(data, go) {
    this.data = data;
    this.go = go;
    this.state = {callers: false, flame: false, column: 0, root: null};
    this.chosen = null;
    this.pattern = '';
    this.choices = data.columns
      .map((column, index) => ({key: index, text: column.heading, column}))
      .filter(({column}) => column.additive && column.inclusive && !column.title.startsWith('imbalance'));
    this.bar = element('div', {class: 'toolbar'},
      segmented('By', [{key: false, text: 'by calling context'}, {key: true, text: 'by callers'}], false, (callers) => this.set({callers, root: null})),
      segmented('Shape', [{key: false, text: 'icicle'}, {key: true, text: 'flame'}], false, (flame) => this.set({flame})),
      dropdown('Metric', this.choices, 0, (column) => this.set({column})),
      element('span', {class: 'spacer'}),
      this.search());
    this.crumbs = element('div', {class: 'crumbs'});
    this.graph = element('div', {class: 'flame', tabindex: '0', role: 'application', 'aria-label': 'flame graph: arrow keys move, Enter zooms, Backspace zooms out', onkeydown: (event) => this.key(event)});
    this.status = element('p', {class: 'status', 'aria-live': 'polite'});
    this.node = element('div', {class: 'tab-body'}, this.bar, this.crumbs, this.graph, this.status, this.legend());
    new ResizeObserver(() => this.draw()).observe(this.graph);
  }

  search() {
    this.field = element('input', {type: 'search', placeholder: 'mark frames (/)', 'aria-label': 'mark frames whose names match', oninput: () => {
      this.pattern = this.field.value;
      this.draw();
    }});
    return this.field;
  }

  legend() {
    const entry = (name, text) => element('span', {class: 'legend-entry'}, element('i', {class: `swatch ${name}`}), text);
    return element('p', {class: 'legend-line'}, entry('code', 'code'), entry('loop', 'loops'), entry('wait', 'waits and MPI'), entry('library', 'run-time libraries'));
  }

  set(change) {
    Object.assign(this.state, change);
    this.chosen = null;
    this.draw();
    this.say(null);
  }
  /** Zooms into a row of the calls, or of the callers. */
  show(callers, row) {
    this.state.callers = callers;
    this.state.root = row;
    const [by] = this.bar.children;
    [...by.children].forEach((button, index) => button.setAttribute('aria-pressed', String((index === 1) === callers)));
    this.chosen = null;
    this.draw();
  }

  draw() {
    const width = this.graph.clientWidth;
    if (width === 0) return;
    const frames = frameTree(this.data, this.state.callers, this.state.column, this.state.root);
    this.tree = frames.tree;
    clear(this.graph);
    if (!(frames.top.value > 0)) {
      this.graph.append(element('p', {class: 'dim', text: 'Nothing of this was measured here.'}));
      return;
    }
    this.root = layOutFrames(frames, width);
    this.whole = this.data.columns[this.state.column].whole;
    this.graph.append(flameSvg(this, width));
    this.drawCrumbs();
  }

  drawCrumbs() {
    clear(this.crumbs);
    const crumb = (text, root) => element('button', {type: 'button', class: 'link', text, onclick: () => this.set({root})});
    this.crumbs.append(crumb('whole run', null));
    if (this.state.root === null) return;
    const path = this.tree.path(this.state.root);
    for (const row of path.slice(Math.max(0, path.length - 7)))
      this.crumbs.append(element('span', {class: 'dim', text: ' › '}), crumb(this.tree.name(row), row));
  }

  nameOf(node) {
    return node.data.row === WHOLE ? 'all code, by who calls it' : this.tree.name(node.data.row);
  }
  linesOf(node) {
    const {unit, heading} = this.data.columns[this.state.column];
    const lines = [node.data.row === WHOLE ? this.nameOf(node) : this.tree.fullName(node.data.row)];
    const share = this.whole > 0 ? `, ${percent(node.data.value / this.whole)} of the run` : '';
    lines.push(`${heading} ${quantity(node.data.value, unit)}${share}`);
    if (node.data.row !== WHOLE && this.tree.remark(node.data.row)) lines.push(this.tree.remark(node.data.row));
    return lines;
  }
  say(node) {
    clear(this.status);
    if (!node) return;
    this.status.append(this.linesOf(node).join(' · '), ' ');
    if (node.data.row !== WHOLE)
      this.status.append(element('a', {href: `#${this.state.callers ? 'callers' : 'calls'}/${node.data.row}`, text: 'in the tree'}));
  }

  choose(node) {
    this.chosen = node;
    for (const group of this.graph.querySelectorAll('.frame-box'))
      group.classList.toggle('chosen', select(group).datum() === node);
    this.say(node);
  }
  enter(node) {
    if (node.data.row === WHOLE || node === this.root) return this.out();
    return this.set({root: node.data.row});
  }
  out() {
    if (this.state.root === null) return;
    const parent = this.tree.parent(this.state.root);
    this.set({root: parent < 0 || (!this.state.callers && this.tree.parent(parent) < 0) ? null : parent});
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.root) return;
    const at = this.chosen ?? this.root;
    const siblings = at.parent ? at.parent.children : [at];
    const index = siblings.indexOf(at);
    const deeper = () => this.choose(at.children ? at.children[0] : at);
    const higher = () => this.choose(at.parent ?? at);
    const actions = {
      ArrowRight: () => this.choose(siblings[Math.min(siblings.length - 1, index + 1)]),
      ArrowLeft: () => this.choose(siblings[Math.max(0, index - 1)]),
      ArrowDown: this.state.flame ? higher : deeper,
      ArrowUp: this.state.flame ? deeper : higher,
      Enter: () => this.enter(at),
      Backspace: () => this.out(),
      m: () => this.bar.children[0].children[this.state.callers ? 0 : 1].click(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}

/** The graph as SVG, which prints. */
function flameSvg(tab, width) {
  const {tree, root, state} = tab;
  const nodes = root.descendants();
  const height = (root.height + 1) * LEVEL;
  const found = tab.pattern === '' ? null : new Set(findRows(tree, tab.pattern));
  const svg = select(document.createElementNS('http://www.w3.org/2000/svg', 'svg'))
    .attr('width', width).attr('height', height).attr('viewBox', `0 0 ${width} ${height}`)
    .attr('role', 'img').attr('aria-label', 'flame graph');
  const top = (node) => (state.flame ? height - (node.depth + 1) * LEVEL : node.depth * LEVEL);
  const boxes = svg.selectAll('g').data(nodes).join('g')
    .attr('class', (node) => `frame-box${found && !found.has(node.data.row) ? ' unmarked' : ''}`)
    .attr('transform', (node) => `translate(${node.x0},${top(node)})`);
  boxes.append('rect')
    .attr('width', (node) => Math.max(0.5, node.x1 - node.x0 - 0.6)).attr('height', LEVEL - 1)
    .attr('rx', 1.5)
    .attr('fill', (node) => (node.data.row === WHOLE ? 'var(--quiet)' : frameColour(tree, node.data.row)));
  boxes.filter((node) => node.x1 - node.x0 > 28).append('text').attr('x', 4).attr('y', 14)
    .text((node) => fitted(tab.nameOf(node), node.x1 - node.x0 - 8));
  boxes.on('click', (node) => {
    if (tab.chosen === node) tab.enter(node);
    else tab.choose(node);
  });
  svg.node().addEventListener('pointermove', (event) => {
    const box = event.target.closest?.('.frame-box');
    showTip(box ? tab.linesOf(select(box).datum()) : null, event.clientX, event.clientY);
  });
  svg.node().addEventListener('pointerleave', () => showTip(null));
  return svg.node();
}

/** As much of a name as fits; its middle goes. */
function fitted(name, room) {
  const letters = Math.floor(room / LETTER);
  if (name.length <= letters) return name;
  if (letters < 4) return '';
  const head = Math.ceil((letters - 1) * 0.6);
  return `${name.slice(0, head)}…${name.slice(name.length - (letters - 1 - head))}`;
}
