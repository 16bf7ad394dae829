// Waits, causes, hot procedures and the critical path as viewer-cli lists them; who waits for whom; what MPI calls took.

import {element, clear, segmented} from './elements.js';
import {percent, quantity, grouped, bytes, counted, scaleFor} from './numbers.js';
import {heatColours} from './colours.js';
import {HeatMap, heatLegend} from './heat_map.js';

const TITLES = {waits: 'Waits', causes: 'Causes', critical: 'Critical path', hotspots: 'Hot procedures', matrix: 'Who for whom', communication: 'MPI calls'};

/** A list of amounts, each with what it is of and its call paths. */
export function listTable(data, list, most = Infinity) {
  const rows = list.rows.slice(0, most);
  const scale = scaleFor(rows.length > 0 ? rows[0].s : 0, 's');
  const body = element('div', {class: 'list', role: 'list'});
  for (const row of rows) {
    const text = element('div', {class: 'list-text'});
    if (row.name) text.append(element('strong', {text: row.name, title: row.meaning || null}), ' ');
    text.append(element('span', {text: row.text}));
    for (const path of row.paths) {
      const line = element('div', {class: 'list-path'});
      if (path.before) line.append(path.before);
      line.append(path.row === null ? path.text : element('a', {href: `#calls/${path.row}`, text: path.text}));
      if (path.after) line.append(element('span', {class: 'dim', text: path.after}));
      text.append(line);
    }
    const share = element('span', {class: 'number list-share', text: row.share === null ? '' : percent(row.share)});
    if (row.share) {
      const bar = element('span', {class: 'share-bar', 'aria-hidden': 'true'});
      bar.style.width = `${Math.min(100, 100 * row.share)}%`;
      share.append(bar);
    }
    body.append(element('div', {class: 'list-row', role: 'listitem'},
      element('span', {class: 'number', text: `${scale.write(row.s)} ${scale.unit}`}), share, text));
  }
  return body;
}

export class WaitsTab {
  constructor(data, go) {
    this.data = data;
    this.go = go;
    const {lists, matrices, communication} = data.raw;
    this.parts = ['waits', 'causes', 'critical', 'hotspots'].filter((key) => lists[key]);
    if (matrices.length > 0) this.parts.push('matrix');
    if (communication) this.parts.push('communication');
    [this.part] = this.parts;
    this.matrix = 0;
    this.body = element('div');
    this.bar = element('div', {class: 'toolbar'});
    this.node = element('div', {class: 'tab-body'}, this.bar, this.body);
    this.heat = new HeatMap({label: 'who for whom', onCursor: (text) => { this.status.textContent = text; }});
    this.status = element('p', {class: 'status', 'aria-live': 'polite'});
  }

  show(part) {
    if (this.parts.includes(part)) this.part = part;
    this.draw();
  }
  draw() {
    clear(this.bar).append(segmented('What', this.parts.map((key) => ({key, text: TITLES[key]})), this.part, (part) => this.go(`waits/${part}`)));
    clear(this.body);
    if (this.part === 'matrix') this.drawMatrix();
    else if (this.part === 'communication') this.drawCalls();
    else this.drawList(this.data.raw.lists[this.part]);
  }

  drawList(list) {
    this.body.append(element('p', {class: 'prose', text: list.introduction}));
    if (list.rows.length > 0) this.body.append(listTable(this.data, list));
    if (list.left_out > 0)
      this.body.append(element('p', {class: 'dim', text: `And ${counted(list.left_out, 'row')} more, of at most ${quantity(list.largest_left_s, 's')} each: viewer-cli RUN ${this.part === 'critical' ? 'critical-path' : this.part} --format json or csv leaves out nothing.`}));
    for (const note of list.notes) this.body.append(element('p', {class: 'prose', text: note}));
  }

  // -- who waits for whom -------------------------------------------------------------------------------------

  drawMatrix() {
    const {matrices} = this.data.raw;
    const matrix = matrices[this.matrix];
    if (matrices.length > 1)
      this.body.append(segmented('Amount', matrices.map((each, index) => ({key: index, text: each.title})), this.matrix, (index) => {
        this.matrix = index;
        this.draw();
      }));
    const groups = matrix.per_group > 1 ? ` Each line and column is ${matrix.per_group} neighbours; the largest pairs are below.` : '';
    this.body.append(element('p', {class: 'prose', text: `A line's thread ${matrix.from} ${matrix.to} a column's.${groups}`}),
      this.heat.node, element('p', {class: 'legend-line'}, this.drawCells(matrix)), this.status, this.largest(matrix));
  }

  drawCells(matrix) {
    const side = Math.ceil(matrix.threads / matrix.per_group);
    const cells = new Map(matrix.cells.map(([from, to, amount]) => [from * side + to, amount]));
    const most = Math.max(...cells.values());
    const heat = heatColours();
    const label = (at) => matrix.labels ? matrix.labels[at] : matrix.per_group === 1 ? `rank ${at}` : `ranks ${at * matrix.per_group}–${Math.min((at + 1) * matrix.per_group, matrix.threads) - 1}`;
    const short = (at) => label(at).replace(/^ranks? /, '').replace(/ to .*/, '').replace(/–.*/, '');
    this.heat.show({
      lines: side,
      wide: side,
      square: true,
      discrete: true,
      colour: (line, cell) => {
        const amount = cells.get(line * side + cell);
        return amount ? heat[Math.max(1, Math.round((255 * amount) / most))] : heat[0];
      },
      describe: (line, cell) => {
        const amount = cells.get(line * side + cell) ?? 0;
        return [`${label(line)} ${matrix.from} ${matrix.to} ${label(cell)}`, amount ? quantity(amount, matrix.unit) : 'nothing'];
      },
      xTick: short,
      yTick: short,
      xName: `${matrix.to} rank`,
      yName: '',
    });
    return heatLegend(heat, '0', quantity(most, matrix.unit));
  }

  largest(matrix) {
    const table = element('table', {class: 'figures'});
    table.append(element('tr', {}, element('th', {class: 'number', text: matrix.title}), element('th', {text: matrix.from}), element('th', {text: matrix.to}), element('th', {text: matrix.largest.some((each) => each.in) ? 'most of it in' : ''})));
    for (const each of matrix.largest) {
      table.append(element('tr', {},
        element('td', {class: 'number', text: quantity(each.amount, matrix.unit)}),
        element('td', {text: each.from}),
        element('td', {text: each.to}),
        element('td', {}, each.row === null ? each.in : element('a', {href: `#calls/${each.row}`, text: each.in}))));
    }
    return element('div', {class: 'scroll-x'}, table);
  }

  // -- MPI calls ----------------------------------------------------------------------------------------------

  drawCalls() {
    const {summary, note, calls} = this.data.raw.communication;
    this.body.append(element('p', {class: 'prose', text: summary}));
    const table = element('table', {class: 'figures'});
    const heads = ['call', 'time', 'calls', 'mean', 'longest', 'bytes', 'ranks'];
    table.append(element('tr', {}, ...heads.map((text, index) => element('th', {text, class: index > 0 ? 'number' : ''}))));
    for (const each of calls) {
      const cells = [quantity(each.seconds, 's'), grouped(each.calls), each.mean_s ? quantity(each.mean_s, 's') : '', each.max_s ? quantity(each.max_s, 's') : '', each.bytes > 0 ? bytes(each.bytes) : '', grouped(each.ranks)];
      table.append(element('tr', {}, element('td', {text: each.call}), ...cells.map((text) => element('td', {class: 'number', text}))));
    }
    this.body.append(element('div', {class: 'scroll-x'}, table));
    if (note) this.body.append(element('p', {class: 'dim prose', text: note}));
  }
}
