// Source texts that the database holds, with what their lines cost.

import {element, clear, dropdown} from './elements.js';
import {quantity, scaleFor, counted} from './numbers.js';

const CHUNK = 200; // lines that are drawn once they come into sight

export class SourceTab {
  constructor(data) {
    this.data = data;
    const {files, left_out: leftOut} = data.raw.sources;
    this.files = files;
    this.file = 0;
    this.node = element('div', {class: 'tab-body'});
    if (files.length === 0) {
      const why = leftOut > 0 ? 'The sources that the database holds are left out of this page.' : 'The database holds no sources (prof-mpi --no-source, or none were found when it merged).';
      this.node.append(element('p', {class: 'dim', text: `${why} viewer-cli RUN shows those that are on this machine.`}));
      return;
    }
    this.select = dropdown('File', files.map((file, index) => ({key: index, text: `${this.nameOf(index)}   ${quantity(file.cost, 's')}`})), 0, (file) => this.show(file, 0));
    this.text = element('div', {class: 'source', tabindex: '0', role: 'document', onkeydown: (event) => this.key(event)});
    const step = (by, text, title) => element('button', {type: 'button', text, title, onclick: () => this.costly(by)});
    this.node.append(element('div', {class: 'toolbar'}, this.select, step(1, 'next costly line', 'n'), step(-1, 'previous', 'N'),
      leftOut > 0 ? element('span', {class: 'dim', text: `${counted(leftOut, 'file')} left out`}) : null), this.text);
  }

  nameOf(index) {
    return this.data.texts[this.files[index].file];
  }

  draw() {
    if (this.files.length > 0 && !this.drawn) this.show(this.file, 0);
  }

  /** @param {number} line from 1 on; 0: the costliest */
  show(file, line) {
    this.file = file;
    this.select.selectedIndex = file;
    this.drawn = true;
    const {text, lines} = this.files[file];
    const {columns} = this.data.raw.sources;
    const used = columns.map((_, index) => index).filter((index) => index === 0 || lines.some((each) => each[index + 1] > 0));
    this.columns = used.map((index) => columns[index]);
    this.costs = new Map(lines.map(([number, ...values]) => [number, used.map((index) => values[index])]));
    const headings = this.columns.map((column) => this.data.columns[column]);
    const most = headings.map((_, index) => Math.max(0, ...[...this.costs.values()].map((values) => values[index])));
    this.text.classList.toggle('two', this.columns.length > 1);
    const scales = headings.map((column, index) => scaleFor(most[index], column.unit));
    clear(this.text).setAttribute('aria-label', this.nameOf(file));
    const head = element('div', {class: 'source-line source-head'}, ...headings.map((column, index) => element('span', {class: 'number', text: `${column.heading} ${scales[index].unit}`})), element('span', {class: 'line-number'}), element('span', {text: this.nameOf(file)}));
    this.text.append(head);
    const all = text.split('\n');
    this.rows = [];
    for (let first = 0; first < all.length; first += CHUNK) {
      const chunk = element('div', {class: 'source-chunk'});
      all.slice(first, first + CHUNK).forEach((content, index) => {
        const row = this.lineElement(first + index + 1, content.replace(/\r$/, ''), most, scales);
        this.rows.push(row);
        chunk.append(row);
      });
      this.text.append(chunk);
    }
    const costliest = lines.reduce((best, each) => (best === null || each[1] > best[1] ? each : best), null);
    this.choose(line || (costliest ? costliest[0] : 1));
  }

  lineElement(number, content, most, scales) {
    const costs = this.costs.get(number);
    const row = element('div', {class: 'source-line', onclick: () => this.choose(number, false)});
    this.columns.forEach((_, index) => {
      const value = costs ? costs[index] : 0;
      const share = most[index] > 0 ? value / most[index] : 0;
      row.append(element('span', {class: `number${share >= 0.25 ? ' hot' : share >= 0.05 ? ' warm' : ''}`, text: value > 0 ? scales[index].write(value) : ''}));
    });
    row.append(element('span', {class: 'line-number', text: String(number)}), element('code', {text: content}));
    return row;
  }

  choose(line, scroll = true) {
    this.rows[this.line - 1]?.classList.remove('chosen');
    this.line = Math.max(1, Math.min(this.rows.length, line));
    const row = this.rows[this.line - 1];
    row.classList.add('chosen');
    if (!scroll) return;
    const [box, place] = [this.text.getBoundingClientRect(), row.getBoundingClientRect()];
    this.text.scrollTop += place.top - box.top - box.height / 2;
  }
  costly(step) {
    const lines = [...this.costs.keys()].sort((a, b) => a - b);
    const next = step > 0 ? lines.find((line) => line > this.line) : lines.findLast((line) => line < this.line);
    if (next) this.choose(next);
  }
  key(event) {
    const actions = {n: () => this.costly(1), N: () => this.costly(-1), ArrowDown: () => this.choose(this.line + 1), ArrowUp: () => this.choose(this.line - 1), j: () => this.choose(this.line + 1), k: () => this.choose(this.line - 1)};
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  }
}
