// SPDX-License-Identifier: Apache-2.0
// Elements, tables and charts. Text is inserted as text: no answer of a service is read as HTML.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const number = (value) => Number(value).toLocaleString('en', {maximumFractionDigits: value < 10 ? 1 : 0});
export const milliseconds = (value) => (value >= 1000 ? `${number(value / 1000)} s` : `${number(value)} ms`);
// Times are RFC 3339 texts, or null.
export const time = (text) => (text ? text.slice(0, 19).replace('T', ' ') : '–');
export const day = (text) => (text ? text.slice(0, 10) : '–');
export const short = (hex) => h('code', {title: hex}, hex.length > 12 ? `${hex.slice(0, 12)}…` : hex);

// figure: a card with one number.
export function figure(label, value, note = '', warning = false) {
  return h('div', {class: `card figure${warning ? ' warning' : ''}`}, h('div', {class: 'label'}, label),
    h('div', {class: 'value'}, value), h('div', {class: 'note'}, note));
}

// table: `columns`: {label, cell(row), number?, wide?}.
export function table(columns, rows, empty) {
  if (rows.length === 0) return h('p', {class: 'empty'}, empty);
  return h('div', {class: 'scroll'}, h('table', {class: 'stack'},
    h('thead', {}, h('tr', {}, columns.map((c) => h('th', {scope: 'col', class: c.number ? 'number' : ''}, c.label)))),
    h('tbody', {}, rows.map((row) => h('tr', {}, columns.map((c) =>
      h('td', {'data-label': c.label, class: c.number ? 'number' : c.wide ? 'wide' : ''}, c.cell(row) ?? '–')))))));
}

const kWidth = 520, kHeight = 170, kLeft = 54, kBottom = 22, kTop = 10;

// nice: the next 1, 2 or 5 times a power of ten.
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 2, 5, 10].map((f) => f * power).find((v) => v >= value);
}

function frame(points, highest, unit, title) {
  const chart = svg('svg', {class: 'chart', viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': title});
  const y = (v) => kHeight - kBottom - (kHeight - kBottom - kTop) * v / highest;
  for (const part of [0, 0.5, 1]) {
    chart.append(svg('line', {class: 'grid', x1: kLeft, x2: kWidth, y1: y(part * highest), y2: y(part * highest)}));
    chart.append(svg('text', {x: kLeft - 6, y: y(part * highest) + 4, 'text-anchor': 'end'}, unit(part * highest)));
  }
  const last = points.length - 1;
  for (const [i, anchor] of [[0, 'start'], [last, 'end']]) {
    if (last < 1) break;
    chart.append(svg('text', {x: i === 0 ? kLeft : kWidth, y: kHeight - 5, 'text-anchor': anchor},
      i === last ? 'now' : `${last} min ago`));
  }
  return {chart, y};
}

export function bars(points, value, title) {
  const highest = nice(Math.max(1, ...points.map(value)));
  const {chart, y} = frame(points, highest, number, title);
  const step = (kWidth - kLeft) / Math.max(points.length, 1);
  points.forEach((p, i) => {
    if (value(p) === 0) return;
    chart.append(svg('rect', {class: 'block', x: kLeft + i * step + 0.5, width: Math.max(step - 1.5, 1), y: y(value(p)), height: kHeight - kBottom - y(value(p)), rx: 1}));
  });
  return chart;
}

// lines: two lines, broken where no value was measured.
export function lines(points, first, second, title) {
  const measured = points.filter((p) => second(p) !== null);
  const highest = nice(Math.max(1, ...measured.map(second)));
  const {chart, y} = frame(points, highest, milliseconds, title);
  const step = (kWidth - kLeft) / Math.max(points.length - 1, 1);
  for (const [value, name, dot] of [[second, 'second', 'dot2'], [first, 'first', 'dot']]) {
    let path = '', runs = 0;
    points.forEach((p, i) => {
      if (value(p) === null) { runs = 0; return; }
      const x = kLeft + i * step;
      path += `${runs++ === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y(value(p)).toFixed(1)}`;
      const alone = runs === 1 && (i + 1 === points.length || value(points[i + 1]) === null);
      if (alone) chart.append(svg('circle', {class: dot, cx: x, cy: y(value(p)), r: 2.5}));
    });
    if (path) chart.append(svg('path', {class: name, d: path}));
  }
  return chart;
}
