// The chosen row over ranks, large; and the procedures and MPI calls with most time over ranks, a line each.

import {element, clear} from './elements.js';
import {quantity} from './numbers.js';
import {heatColours} from './colours.js';
import {HeatMap, heatLegend} from './heat_map.js';
import {rankPanel} from './rank_plot.js';

const PROCEDURES = 18;

export class RanksTab {
  constructor(data, go) {
    this.data = data;
    this.go = go;
    this.title = element('h3');
    this.plot = element('div');
    this.status = element('p', {class: 'status', 'aria-live': 'polite'});
    this.heat = new HeatMap({label: 'procedures over ranks', onCursor: (text) => { this.status.textContent = text; }, onEnter: (line) => go(`flat/${this.lines[line].row}`)});
    this.heading = element('h3', {text: `Procedures themselves${data.run.ranks > 0 ? ', and MPI calls' : ', and waits'}, over ${data.each}`});
    this.legend = element('p', {class: 'legend-line'});
    this.node = element('div', {class: 'tab-body'}, this.title, this.plot, this.heading, this.heat.node, this.legend, this.status);
    new ResizeObserver(() => this.drawPlot()).observe(this.node);
  }

  show(chosen) {
    this.chosen = chosen;
  }

  draw() {
    this.drawPlot();
    this.drawHeat();
  }

  drawPlot() {
    if (!this.chosen || this.node.clientWidth === 0) return;
    const {tree, row} = this.chosen;
    const name = this.data.trees[tree].fullName(row);
    clear(this.title).append(element('a', {href: `#${tree}/${row}`, text: name}), ` over ${this.data.each}`);
    clear(this.plot).append(rankPanel(this.data, tree, row, {width: Math.min(1100, this.node.clientWidth - 4), height: 220}));
  }

  /** Of procedures what they take themselves, of waits and MPI calls with all below: one line for each that has values. */
  drawHeat() {
    const {flat} = this.data.trees;
    const rows = [];
    for (let row = 0; row < flat.size; row += 1) {
      if (flat.kind(row) !== 'procedure' && flat.kind(row) !== 'inlined') continue;
      const values = this.data.valuesOverRanks('flat', row);
      if (!values) continue;
      const {mean} = values.metrics[flat.isWait(row) || values.metrics.length < 2 ? 0 : 1];
      rows.push({row, values, mean, time: mean.reduce((sum, each) => sum + each, 0)});
    }
    // Of the role with most rows: lines must stand for the same threads.
    const role = rows[0]?.values.role;
    this.lines = rows.filter((each) => each.values.role === role && each.time > 0).sort((a, b) => b.time - a.time).slice(0, PROCEDURES);
    const groups = this.lines[0]?.values.groups ?? 0;
    this.heading.hidden = this.heat.node.hidden = this.legend.hidden = this.lines.length === 0 || groups < 2;
    if (this.heading.hidden) return;
    const heat = heatColours();
    const most = Math.max(...this.lines.map(({mean}) => Math.max(...mean)));
    const value = (line, cell) => this.lines[line].mean[cell];
    const narrow = this.node.clientWidth < 600;
    const name = (line) => {
      const text = flat.name(this.lines[line].row);
      const room = narrow ? 20 : 44;
      return text.length > room ? `…${text.slice(1 - room)}` : text; // what distinguishes names is at their ends
    };
    this.heat.show({
      lines: this.lines.length,
      wide: groups,
      colour: (line, cell) => (value(line, cell) > 0 ? heat[Math.max(1, Math.round((255 * value(line, cell)) / most))] : heat[0]),
      describe: (line, cell) => [`${flat.name(this.lines[line].row)}, ${this.data.threadLabel(role, cell)}`, quantity(value(line, cell), 's')],
      xTick: (at) => String(at * role.per_group),
      yTick: (line) => name(line),
      discrete: true,
      xName: role.labels ? 'thread' : 'rank',
      yName: '',
    });
    clear(this.legend).append(heatLegend(heat, '0 s', quantity(most, 's')));
  }
}
