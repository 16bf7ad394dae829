// Ranks over time: who waits when, in which code; and how long the same thing took (SOS-times).

import {element, clear, dropdown} from './elements.js';
import {percent, quantity, grouped} from './numbers.js';
import {heatColours, partColours} from './colours.js';
import {HeatMap, heatLegend} from './heat_map.js';
import {unpack, unscale} from './run_data.js';

/** Which ranks a line of a map stands for. */
export function ranksOfLine(map, line) {
  const first = map.first_rank[line];
  const last = line + 1 < map.lines ? map.first_rank[line + 1] - 1 : map.last_rank;
  return first === last ? `rank ${first}` : `ranks ${first}–${last}`;
}

function hexToRgb(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

export class TimeTab {
  constructor(data, go) {
    this.data = data;
    this.go = go;
    this.maps = this.choices();
    this.state = {choice: 0, critical: false};
    this.title = element('p', {class: 'map-title'});
    this.status = element('p', {class: 'status', 'aria-live': 'polite'});
    this.legend = element('p', {class: 'legend-line'});
    this.below = element('div');
    this.heat = new HeatMap({label: 'ranks over time', onEnter: (line, cell) => this.enter(line, cell), onCursor: (text) => this.say(text)});
    this.node = element('div', {class: 'tab-body'});
    if (this.maps.length === 0) {
      this.node.append(element('p', {class: 'dim', text: 'This run has no time lines. hpcrun-lite --trace records them.'}));
      return;
    }
    this.select = dropdown('Map', this.maps.map((map, index) => ({key: index, text: map.text})), 0, (choice) => this.show(choice));
    this.critical = element('input', {type: 'checkbox', onchange: () => this.show(this.state.choice)});
    this.criticalLabel = element('label', {class: 'check'}, this.critical, ' critical path');
    this.bar = element('div', {class: 'toolbar'}, this.select, this.criticalLabel, element('span', {class: 'spacer'}),
      element('button', {type: 'button', text: 'whole map', title: 'z', onclick: () => this.heat.reset()}));
    this.node.append(this.bar, this.title, this.heat.node, this.legend, this.status, this.below);
  }

  choices() {
    const {time, segments} = this.data.raw.maps;
    const list = [];
    if (time) for (const map of time.maps) list.push({kind: map.kind, text: map.title, map, grid: time});
    segments.forEach((map, index) => {
      const finer = index === 0 ? '' : ' (finer)';
      list.push({kind: 'segments', text: `${map.segment}s${finer}`, map, grid: map});
    });
    return list;
  }

  draw() {
    if (this.maps.length > 0) this.show(this.state.choice);
  }

  show(choice) {
    this.state.choice = choice;
    this.select.selectedIndex = choice;
    const {kind, map, grid} = this.maps[choice];
    const ofTime = kind !== 'segments';
    this.criticalLabel.hidden = !ofTime;
    clear(this.status);
    clear(this.below);
    clear(this.legend);
    this.onPath = ofTime && this.critical.checked ? unpack(grid.critical, 8) : null;
    const cells = kind === 'code' ? this.codeCells(map) : kind === 'share' ? this.shareCells(map) : this.segmentCells(map);
    const seconds = (value) => quantity(value, 's');
    const coarse = grid.last_rank - grid.first_rank[0] + 1 > grid.lines ? ' Several ranks share a line: the one with most counts.' : '';
    this.title.textContent = cells.title + coarse;
    this.heat.show({
      lines: grid.lines,
      wide: grid.wide,
      colour: (line, cell) => this.colourOf(cells, line, cell, grid.wide),
      describe: (line, cell) => [`${ranksOfLine(grid, line)}, ${this.whenOf(kind, grid, cell)}`, ...cells.describe(line, cell)],
      xDomain: ofTime ? [0, grid.columns * grid.bin_s] : [0, grid.columns],
      xTick: ofTime ? (value) => (value === 0 ? '0' : seconds(value)) : (value) => (Number.isInteger(value) ? grouped(value) : ''),
      yTick: (line) => String(grid.first_rank[line]),
      xName: ofTime ? 'time' : map.segment,
      yName: 'rank',
    });
    this.cells = cells;
  }

  /** What lies on the critical path keeps its colour, the rest fades. */
  colourOf(cells, line, cell, wide) {
    const colour = cells.colour(line, cell);
    if (!this.onPath) return colour;
    const at = line * wide + cell;
    if ((this.onPath[at >> 3] >> (at & 7)) & 1) return colour ?? [128, 128, 128];
    const [ground] = heatColours();
    return (colour ?? ground).map((part, index) => Math.round(0.22 * part + 0.78 * ground[index]));
  }

  whenOf(kind, grid, cell) {
    if (kind !== 'segments') return quantity(((cell + 0.5) * grid.columns * grid.bin_s) / grid.wide, 's');
    const per = grid.columns / grid.wide;
    const first = Math.floor(cell * per);
    const last = Math.ceil((cell + 1) * per) - 1;
    return last > first ? `${grid.segment}s ${first}–${last}` : `${grid.segment} ${first}`;
  }

  shareCells(map) {
    const values = unpack(map.data, 8);
    const heat = heatColours();
    const full = map.most > 0 ? map.most : 1;
    this.legend.append(heatLegend(heat, '0 %', percent(full, 0)));
    return {
      title: `${map.title}: ${map.meaning}`,
      colour: (line, cell) => heat[values[line * map.wide + cell]],
      describe: (line, cell) => [`${percent((values[line * map.wide + cell] / 255) * map.most, 0)} of the time ${map.title}`],
      row: () => null,
    };
  }

  codeCells(map) {
    const parts = unpack(map.data, 8);
    const {wide} = this.maps[this.state.choice].grid;
    const colours = partColours().map(hexToRgb);
    const names = map.legend.map(([name]) => this.data.texts[name]);
    map.legend.forEach(([, row, call], index) => {
      const swatch = element('i', {class: 'swatch'});
      swatch.style.backgroundColor = partColours()[index];
      const name = row === null ? element('span', {text: names[index]}) : element('a', {href: `#calls/${row}`, text: names[index], class: call ? 'wait' : ''});
      this.legend.append(element('span', {class: 'legend-entry'}, swatch, name));
    });
    const part = (line, cell) => parts[line * wide + cell] - 1;
    return {
      title: map.meaning,
      colour: (line, cell) => (part(line, cell) < 0 ? null : colours[part(line, cell)]),
      describe: (line, cell) => [part(line, cell) < 0 ? 'nothing was sampled' : names[part(line, cell)]],
      row: (line, cell) => (part(line, cell) < 0 ? null : map.legend[part(line, cell)][1]),
    };
  }

  segmentCells(map) {
    const values = unscale(map);
    const heat = heatColours();
    this.legend.append(heatLegend(heat, '0 s', quantity(map.most, 's')));
    this.listOutliers(map);
    const value = (line, cell) => values[line * map.wide + cell];
    return {
      title: `${this.data.texts[map.title]}: time outside MPI (SOS-time), median ${quantity(map.median_s, 's')}.${map.lines_up ? '' : ' Ranks have different numbers of them, so columns do not line up.'}`,
      colour: (line, cell) => heat[map.most > 0 ? Math.round((255 * value(line, cell)) / map.most) : 0],
      describe: (line, cell) => {
        const ratio = map.median_s > 0 ? value(line, cell) / map.median_s : 1;
        const beside = ratio >= 10 ? `${grouped(ratio)} times the median` : `${ratio >= 1 ? '+' : ''}${grouped(100 * (ratio - 1))} %`;
        return [`${quantity(value(line, cell), 's')} outside MPI (${beside})`];
      },
      row: () => map.row,
    };
  }

  listOutliers(map) {
    if (map.outliers.length === 0) return;
    this.below.append(element('h3', {text: `Unusually long: ${grouped(map.all_outliers)}`}));
    const table = element('table', {class: 'figures'});
    table.append(element('tr', {}, element('th', {text: 'outside MPI', class: 'number'}), element('th', {text: 'on'}), element('th', {text: map.segment}), element('th', {text: 'mostly in'})));
    for (const each of map.outliers) {
      const name = this.data.texts[each.in];
      table.append(element('tr', {},
        element('td', {class: 'number', text: quantity(each.s, 's')}),
        element('td', {text: each.line}),
        element('td', {text: each.name}),
        element('td', {}, each.row === null ? name : element('a', {href: `#calls/${each.row}`, text: name}))));
    }
    this.below.append(element('div', {class: 'scroll-x'}, table));
  }

  /** To a segment that a sentence names. */
  showSegment(rank, segment) {
    const choice = this.maps.findIndex((each) => each.kind === 'segments');
    if (choice < 0) return;
    this.show(choice);
    const {grid} = this.maps[choice];
    let line = 0;
    while (line + 1 < grid.lines && grid.first_rank[line + 1] <= rank) line += 1;
    this.heat.moveTo(line, Math.floor((segment * grid.wide) / grid.columns));
  }

  say(text) {
    clear(this.status);
    this.status.append(text, ' ');
    const row = this.heat.cursor ? this.cells.row(this.heat.cursor.line, this.heat.cursor.cell) : null;
    if (row !== null) this.status.append(element('a', {href: `#calls/${row}`, text: 'in the tree'}));
  }
  enter(line, cell) {
    const row = this.cells.row(line, cell);
    if (row !== null) this.go(`calls/${row}`);
  }
}
