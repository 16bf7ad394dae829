// A grid of coloured cells with axes, a cursor and a zoom: ranks over time, who waits for whom. Cells are pixels of an
// image that is stretched; only what is in sight is drawn.

import {scaleLinear} from 'd3-scale';
import {axisBottom, axisLeft} from 'd3-axis';
import {select, event as current} from 'd3-selection';
import {zoom, zoomIdentity} from 'd3-zoom';
import {element, showTip} from './elements.js';

/**
 * @typedef {object} Grid
 * @property {number} lines
 * @property {number} wide
 * @property {(line: number, cell: number) => number[]|null} colour `[red, green, blue]`; null: nothing is known
 * @property {(line: number, cell: number) => string[]} describe lines of text, of a cell
 * @property {[number, number]} [xDomain] what the columns stand for; else their numbers
 * @property {(value: number) => string} xTick
 * @property {(value: number) => string} yTick of a line's number
 * @property {string} xName
 * @property {string} yName
 * @property {boolean} [square] cells are as high as wide
 * @property {boolean} [discrete] columns are things, not moments: they are named in their middle
 */

export class HeatMap {
  /**
   * @param {{label: string, onEnter?: (line: number, cell: number) => void, onCursor?: (text: string) => void}} hooks
   */
  constructor(hooks) {
    this.hooks = hooks;
    this.canvas = element('canvas', {class: 'heat-cells'});
    this.svg = select(document.createElementNS('http://www.w3.org/2000/svg', 'svg')).attr('class', 'heat-axes');
    this.node = element('div', {
      class: 'heat-map',
      tabindex: '0',
      role: 'application',
      'aria-label': `${hooks.label}: arrow keys move the cursor, plus and minus zoom, Enter goes to the code`,
      onkeydown: (event) => this.key(event),
    }, this.canvas, this.svg.node());
    this.transform = zoomIdentity;
    this.cursor = null;
    this.zoom = zoom().scaleExtent([1, 64]).filter(() => this.zooms(current)).on('zoom', () => this.zoomed());
    this.node.addEventListener('pointermove', (event) => this.point(event));
    this.node.addEventListener('pointerleave', () => showTip(null));
    this.node.addEventListener('click', (event) => this.click(event));
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  /** Wheels turn the page unless Ctrl is held; fingers: two zoom. */
  zooms(happened) {
    if (happened.type === 'wheel') return happened.ctrlKey || happened.shiftKey || this.transform.k > 1;
    if (happened.type === 'touchstart') return happened.touches.length > 1 || this.transform.k > 1;
    return this.transform.k > 1 || happened.type === 'dblclick';
  }

  /** @param {Grid} grid */
  show(grid) {
    this.grid = grid;
    this.cursor = null;
    this.paint();
    this.reset();
  }

  /** Colours each cell once, in an image with a pixel for each. */
  paint() {
    const {lines, wide, colour} = this.grid;
    this.image = document.createElement('canvas');
    this.image.width = wide;
    this.image.height = lines;
    const context = this.image.getContext('2d');
    const pixels = context.createImageData(wide, lines);
    for (let line = 0; line < lines; line += 1) {
      for (let cell = 0; cell < wide; cell += 1) {
        const found = colour(line, cell);
        if (!found) continue;
        const at = 4 * (line * wide + cell);
        [pixels.data[at], pixels.data[at + 1], pixels.data[at + 2]] = found;
        pixels.data[at + 3] = 255;
      }
    }
    context.putImageData(pixels, 0, 0);
  }

  reset() {
    select(this.node).call(this.zoom).on('dblclick.zoom', null);
    select(this.node).call(this.zoom.transform, zoomIdentity);
    this.draw();
  }

  layOut() {
    const width = this.node.clientWidth;
    const {lines, wide, yTick, square} = this.grid;
    let longest = this.grid.yName.length;
    for (let line = 0; line < lines; line += 1) longest = Math.max(longest, yTick(line).length);
    const margin = {left: Math.min(14 + 6.6 * longest, width * 0.42), right: 26, top: 6, bottom: 34};
    const inner = width - margin.left - margin.right;
    let height = Math.max(90, Math.min(lines * (lines < 12 ? 44 : 24), 560, Math.max(180, window.innerHeight * 0.55)));
    let innerWidth = inner;
    if (square) {
      height = Math.min(inner, 460, Math.max(160, lines * 40));
      innerWidth = Math.min(inner, (height * wide) / lines);
    }
    return {width, height, margin, innerWidth};
  }

  scales() {
    const {margin, innerWidth, height} = this.box;
    const {lines, wide} = this.grid;
    const x = this.transform.rescaleX(scaleLinear([0, wide], [margin.left, margin.left + innerWidth]));
    const y = this.transform.rescaleY(scaleLinear([0, lines], [margin.top, margin.top + height]));
    return {x, y};
  }

  draw() {
    if (!this.grid || this.node.clientWidth === 0) return;
    this.box = this.layOut();
    const {width, height, margin, innerWidth} = this.box;
    const whole = margin.top + height + margin.bottom;
    this.zoom.extent([[margin.left, margin.top], [margin.left + innerWidth, margin.top + height]])
      .translateExtent([[margin.left, margin.top], [margin.left + innerWidth, margin.top + height]]);
    const sharp = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(innerWidth * sharp);
    this.canvas.height = Math.round(height * sharp);
    this.canvas.style.left = `${margin.left}px`;
    this.canvas.style.top = `${margin.top}px`;
    this.canvas.style.width = `${innerWidth}px`;
    this.canvas.style.height = `${height}px`;
    this.node.style.height = `${whole}px`;
    this.svg.attr('width', width).attr('height', whole).attr('viewBox', `0 0 ${width} ${whole}`);
    this.drawCells(sharp);
    this.drawAxes();
    this.drawCursor();
  }

  drawCells(sharp) {
    const {x, y} = this.scales();
    const {margin} = this.box;
    const context = this.canvas.getContext('2d');
    context.imageSmoothingEnabled = false;
    const [left, right] = [x(0) - margin.left, x(this.grid.wide) - margin.left];
    const [top, bottom] = [y(0) - margin.top, y(this.grid.lines) - margin.top];
    context.drawImage(this.image, left * sharp, top * sharp, (right - left) * sharp, (bottom - top) * sharp);
  }

  drawAxes() {
    const {margin, innerWidth, height} = this.box;
    const {grid} = this;
    const {x, y} = this.scales();
    const ticks = Math.max(2, Math.floor(innerWidth / 90));
    const [first, last] = grid.xDomain ?? [0, grid.wide];
    const cells = scaleLinear([first, last], [0, grid.wide]);
    const shown = scaleLinear(x.domain().map((cell) => cells.invert(cell)), x.range());
    this.svg.selectAll('*').remove();
    const frame = this.svg.append('rect').attr('class', 'heat-frame').attr('x', margin.left).attr('y', margin.top);
    frame.attr('width', innerWidth).attr('height', height);
    const below = this.svg.append('g').attr('class', 'axis').attr('transform', `translate(0,${margin.top + height})`);
    if (grid.discrete) {
      const each = shown.ticks(Math.min(ticks * 2, grid.wide)).filter((at) => Number.isInteger(at) && at >= 0 && at < grid.wide);
      below.call(axisBottom(shown).tickValues(each.map((at) => at + 0.5)).tickFormat((at) => grid.xTick(Math.floor(at))).tickSize(3));
    } else {
      below.call(axisBottom(shown).ticks(ticks).tickFormat(grid.xTick).tickSize(4));
    }
    const lines = Math.max(1, Math.floor(height / 24));
    const values = y.ticks(Math.min(lines, grid.lines)).filter((at) => Number.isInteger(at) && at >= 0 && at < grid.lines);
    this.svg.append('g').attr('class', 'axis').attr('transform', `translate(${margin.left},0)`)
      .call(axisLeft(y).tickValues(values.map((at) => at + 0.5)).tickFormat((at) => grid.yTick(Math.floor(at))).tickSize(3));
    this.svg.append('text').attr('class', 'axis-name').attr('x', margin.left + innerWidth).attr('y', margin.top + height + 31)
      .attr('text-anchor', 'end').text(grid.xName);
    this.svg.append('text').attr('class', 'axis-name').attr('x', 4).attr('y', margin.top + height + 18).text(grid.yName);
    this.mark = this.svg.append('rect').attr('class', 'heat-cursor').attr('visibility', 'hidden');
  }

  drawCursor() {
    if (!this.cursor || !this.mark) return;
    const {x, y} = this.scales();
    const {line, cell} = this.cursor;
    const [left, right] = [Math.max(x(cell), x.range()[0]), Math.min(x(cell + 1), x.range()[1])];
    const [top, bottom] = [Math.max(y(line), y.range()[0]), Math.min(y(line + 1), y.range()[1])];
    this.mark.attr('visibility', right > left && bottom > top ? 'visible' : 'hidden')
      .attr('x', left - 1).attr('y', top - 1)
      .attr('width', Math.max(3, right - left + 2)).attr('height', Math.max(3, bottom - top + 2));
  }

  zoomed() {
    const node = select(this.node).node();
    this.transform = node.__zoom ?? zoomIdentity;
    if (this.box) this.draw();
  }

  cellAt(event) {
    if (!this.box) return null;
    const box = this.node.getBoundingClientRect();
    const {x, y} = this.scales();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const {margin, innerWidth, height} = this.box;
    if (left < margin.left || left >= margin.left + innerWidth || top < margin.top || top >= margin.top + height) return null;
    const cell = Math.floor(x.invert(left));
    const line = Math.floor(y.invert(top));
    if (cell < 0 || line < 0 || cell >= this.grid.wide || line >= this.grid.lines) return null;
    return {line, cell};
  }

  point(event) {
    const found = this.cellAt(event);
    if (!found) {
      showTip(null);
      return;
    }
    showTip(this.grid.describe(found.line, found.cell), event.clientX, event.clientY);
  }

  click(event) {
    const found = this.cellAt(event);
    if (!found) return;
    const again = this.cursor && this.cursor.line === found.line && this.cursor.cell === found.cell;
    this.moveTo(found.line, found.cell);
    if (again || event.detail === 2) this.hooks.onEnter?.(found.line, found.cell);
  }

  moveTo(line, cell) {
    this.cursor = {
      line: Math.max(0, Math.min(this.grid.lines - 1, line)),
      cell: Math.max(0, Math.min(this.grid.wide - 1, cell)),
    };
    this.drawCursor();
    this.hooks.onCursor?.(this.grid.describe(this.cursor.line, this.cursor.cell).join(' · '));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.grid) return;
    const {line, cell} = this.cursor ?? {line: 0, cell: 0};
    const far = event.shiftKey ? 10 : 1;
    const actions = {
      ArrowLeft: () => this.moveTo(line, cell - far),
      ArrowRight: () => this.moveTo(line, cell + far),
      ArrowUp: () => this.moveTo(line - far, cell),
      ArrowDown: () => this.moveTo(line + far, cell),
      h: () => this.moveTo(line, cell - 1),
      l: () => this.moveTo(line, cell + 1),
      k: () => this.moveTo(line - 1, cell),
      j: () => this.moveTo(line + 1, cell),
      Enter: () => this.cursor && this.hooks.onEnter?.(line, cell),
      '+': () => this.zoomBy(2),
      '-': () => this.zoomBy(0.5),
      z: () => this.reset(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  zoomBy(factor) {
    const {x, y} = this.scales();
    const at = this.cursor ?? {line: this.grid.lines / 2, cell: this.grid.wide / 2};
    select(this.node).call(this.zoom.scaleBy, factor, [x(at.cell + 0.5), y(at.line + 0.5)]);
  }
}

/** A strip from nothing to the most, with names for both ends. */
export function heatLegend(colours, from, to) {
  const canvas = element('canvas', {class: 'legend-strip', width: '128', height: '1'});
  const context = canvas.getContext('2d');
  for (let at = 0; at < 128; at += 1) {
    context.fillStyle = `rgb(${colours[at * 2].join(',')})`;
    context.fillRect(at, 0, 1, 1);
  }
  return element('span', {class: 'legend'}, element('span', {text: from}), canvas, element('span', {text: to}));
}
