// The values of one row over ranks: bars where they are few, else points; of groups of ranks, from the least to the
// most.

import {scaleLinear} from 'd3-scale';
import {axisBottom, axisLeft} from 'd3-axis';
import {select} from 'd3-selection';
import {max, mean as meanOf, ascending} from 'd3-array';
import {element, showTip} from './elements.js';
import {quantity, scaleFor} from './numbers.js';

const MARGIN = {left: 46, right: 10, top: 8, bottom: 24};

/**
 * Draws into a new SVG.
 * @param {import('./run_data.js').RunData} data
 * @param {object} values of RunData.valuesOverRanks
 * @param {{metric: number, sorted: boolean, width: number, height: number, label: string}} options
 */
export function rankPlot(data, values, {metric, sorted, width, height, label}) {
  const {mean, least, most, unit} = values.metrics[metric];
  const order = Array.from(mean.keys());
  if (sorted) order.sort((a, b) => ascending(mean[b], mean[a]));
  const largest = max(most) || 1;
  const scale = scaleFor(largest, unit);
  const x = scaleLinear([0, order.length], [MARGIN.left, width - MARGIN.right]);
  const y = scaleLinear([0, largest], [height - MARGIN.bottom, MARGIN.top]).nice(4);
  const svg = select(document.createElementNS('http://www.w3.org/2000/svg', 'svg'))
    .attr('class', 'rank-plot')
    .attr('viewBox', `0 0 ${width} ${height}`)
    .attr('width', width)
    .attr('height', height)
    .attr('role', 'img')
    .attr('aria-label', label);
  svg.append('g').attr('class', 'axis grid').attr('transform', `translate(${MARGIN.left},0)`)
    .call(axisLeft(y).ticks(4).tickSize(-(width - MARGIN.left - MARGIN.right)).tickFormat((value) => scale.write(value)));
  drawMarks(svg, {order, mean, least, most, x, y, grouped: values.role.per_group > 1});
  const average = meanOf(mean);
  svg.append('line').attr('class', 'mean').attr('x1', MARGIN.left).attr('x2', width - MARGIN.right)
    .attr('y1', y(average)).attr('y2', y(average));
  drawRankAxis(svg, data, values, {order, x, height, sorted});
  svg.append('text').attr('class', 'unit').attr('x', 4).attr('y', height - 7).text(scale.unit);
  addPointer(svg, data, values, {order, x, y, metric, height});
  return svg.node();
}

function drawMarks(svg, {order, mean, least, most, x, y, grouped}) {
  const step = x(1) - x(0);
  const marks = svg.append('g').attr('class', 'marks');
  if (grouped) {
    marks.selectAll('line').data(order).join('line').attr('class', 'spread')
      .attr('x1', (_, at) => x(at + 0.5)).attr('x2', (_, at) => x(at + 0.5))
      .attr('y1', (group) => y(least[group])).attr('y2', (group) => Math.min(y(most[group]), y(least[group]) - 1))
      .attr('stroke-width', Math.max(1, step - 0.4));
    marks.selectAll('circle').data(order).join('circle').attr('class', 'dot')
      .attr('cx', (_, at) => x(at + 0.5)).attr('cy', (group) => y(mean[group])).attr('r', 1.1);
    return;
  }
  if (step >= 4) {
    const gap = step >= 8 ? Math.min(4, step * 0.18) : 1;
    marks.selectAll('rect').data(order).join('rect').attr('class', 'bar')
      .attr('x', (_, at) => x(at) + gap / 2).attr('width', Math.min(step - gap, 44))
      .attr('transform', step > 48 ? `translate(${(step - gap - 44) / 2},0)` : null)
      .attr('y', (group) => y(mean[group])).attr('height', (group) => Math.max(0, y(0) - y(mean[group])));
    return;
  }
  marks.selectAll('circle').data(order).join('circle').attr('class', 'dot')
    .attr('cx', (_, at) => x(at + 0.5)).attr('cy', (group) => y(mean[group])).attr('r', step < 1.5 ? 1.2 : 1.8);
}

function drawRankAxis(svg, data, values, {order, x, height, sorted}) {
  const {role} = values;
  const size = role.per_group;
  const axis = svg.append('g').attr('class', 'axis').attr('transform', `translate(0,${height - MARGIN.bottom})`);
  if (sorted || role.labels) {
    axis.call(axisBottom(x).tickValues([]).tickSize(0));
    axis.append('text').attr('class', 'axis-name').attr('x', (x.range()[0] + x.range()[1]) / 2).attr('y', 16)
      .text(sorted ? 'largest first' : `${order.length} threads`);
    return;
  }
  const width = x.range()[1] - x.range()[0];
  const ticks = x.ticks(Math.max(2, Math.min(8, Math.floor(width / 50)))).filter((at) => Number.isInteger(at) && at < order.length);
  axis.call(axisBottom(x).tickValues(ticks.map((at) => at + 0.5)).tickFormat((at) => String(Math.round((at - 0.5) * size))).tickSize(3));
  const last = ticks.length > 0 ? ticks[ticks.length - 1] : 0;
  if (order.length - last > order.length * 0.08 || ticks.length === 1)
    axis.append('text').attr('class', 'axis-name').attr('x', x.range()[1]).attr('y', 16).attr('text-anchor', 'end').text('rank');
}

function addPointer(svg, data, values, {order, x, y, metric, height}) {
  const {mean, least, most, unit} = values.metrics[metric];
  const cursor = svg.append('line').attr('class', 'cursor').attr('y1', MARGIN.top).attr('y2', height - MARGIN.bottom).attr('visibility', 'hidden');
  svg.node().addEventListener('pointermove', (event) => {
    const box = svg.node().getBoundingClientRect();
    const at = Math.floor(x.invert(((event.clientX - box.left) * svg.attr('width')) / box.width));
    if (at < 0 || at >= order.length) {
      showTip(null);
      cursor.attr('visibility', 'hidden');
      return;
    }
    const group = order[at];
    cursor.attr('x1', x(at + 0.5)).attr('x2', x(at + 0.5)).attr('visibility', 'visible');
    const lines = [data.threadLabel(values.role, group), quantity(mean[group], unit)];
    if (values.role.per_group > 1) lines[1] = `${quantity(least[group], unit)} to ${quantity(most[group], unit)}, mean ${quantity(mean[group], unit)}`;
    showTip(lines, event.clientX, event.clientY);
  });
  svg.node().addEventListener('pointerleave', () => {
    showTip(null);
    cursor.attr('visibility', 'hidden');
  });
}

/** In words: least, mean and most, and how many threads. */
export function rankSummary(data, values, metric) {
  const {mean, least, most, unit} = values.metrics[metric];
  let low = 0;
  let high = 0;
  for (let group = 1; group < mean.length; group += 1) {
    if (least[group] < least[low]) low = group;
    if (most[group] > most[high]) high = group;
  }
  const where = (group) => data.threadLabel(values.role, group);
  const average = meanOf(mean);
  if (mean.length === 1 && values.role.per_group === 1) return `${quantity(mean[0], unit)} on ${where(0)}, the only one.`;
  return `least ${quantity(least[low], unit)} on ${where(low)} · mean ${quantity(average, unit)} · most ${quantity(most[high], unit)} on ${where(high)}`;
}

/** A plot with its choices, for a row of a tree; says so where the page has no values of it. */
export function rankPanel(data, treeName, row, {width, height}) {
  const panel = element('div', {class: 'rank-panel'});
  const values = data.valuesOverRanks(treeName, row);
  if (!values) {
    const why = data.raw.series.left_out > 0
      ? 'The page has values over ranks of the rows with most time and waiting only; of this one, viewer-cli RUN threads shows them.'
      : 'Nothing was sampled here.';
    panel.append(element('p', {class: 'dim', text: why}));
    return panel;
  }
  const state = {metric: 0, sorted: false};
  const plot = element('div');
  const summary = element('p', {class: 'plot-summary'});
  const draw = () => {
    plot.replaceChildren(rankPlot(data, values, {...state, width, height, label: `over ranks: ${data.trees[treeName].name(row)}`}));
    summary.textContent = rankSummary(data, values, state.metric);
  };
  const choices = element('div', {class: 'plot-choices'});
  values.metrics.forEach(({name}, index) => {
    const button = element('button', {type: 'button', text: name, 'aria-pressed': String(index === 0), onclick: () => {
      state.metric = index;
      for (const each of choices.querySelectorAll('[data-metric]')) each.setAttribute('aria-pressed', String(each === button));
      draw();
    }, 'data-metric': String(index)});
    choices.append(button);
  });
  const sort = element('button', {type: 'button', text: 'sorted', 'aria-pressed': 'false', onclick: () => {
    state.sorted = !state.sorted;
    sort.setAttribute('aria-pressed', String(state.sorted));
    draw();
  }});
  choices.append(element('span', {class: 'spacer'}), sort);
  panel.append(choices, plot, summary);
  draw();
  return panel;
}
