// Bars from left to right, each of one part or several.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from 'echarts';
import type { Bars, Part } from '../data';
import { show } from '../format';
import { clip, colour, FONT, INK, PAPER, QUIET, width as wide } from '../look';
import type { Drawing, Item, Room, SeriesOption } from './drawing';
import { axis, COMMON, legend, nameBelow, narrow, rowsDown } from './drawing';

const STEP = 24;
const BOTTOM = 48;

interface Shape {
  type: string;
  [key: string]: unknown;
}

function fill(part: Part, names: string[]): { fill: string; stroke: string; lineDash?: number[] } {
  const own = colour(Math.max(0, names.indexOf(part.name)));
  switch (part.look) {
    case 'bad':
      return { fill: 'var(--bad)', stroke: 'var(--bad)' };
    case 'perhaps':
      return { fill: 'none', stroke: 'var(--bad)', lineDash: [3, 2] };
    case 'open':
      return { fill: 'none', stroke: QUIET, lineDash: [3, 2] };
    case 'good':
      return { fill: 'var(--good)', stroke: 'var(--good)' };
    case 'plain':
      return { fill: own, stroke: PAPER };
  }
}

/** The option of bars. */
export function bars(data: Bars, room: Room): Drawing {
  const small = narrow(room);
  const longest = data.rows.reduce((most, row) => Math.max(most, wide(row.label)), 40);
  const left = small ? 12 : Math.min(longest + 14, room.width * 0.34);
  const beside = data.rows.reduce((most, row) => Math.max(most, wide(row.words)), 0);
  const right = small ? 20 : Math.min(beside + 16, room.width * 0.3);
  const step = small ? STEP + 20 : STEP;
  const log = data.axis.log;
  const lengths = data.rows.flatMap((row) => row.parts.flatMap((p) => [p.from, p.to]));
  // A spread of many times the length would leave no space for the parts; a whisker that leaves the picture gets no end.
  const most = lengths.reduce((a, b) => Math.max(a, b), 0) * 2.2;
  const ends = [...lengths, ...data.rows.flatMap((row) => row.parts.map((p) => Math.min(p.to + (p.spread ?? 0), most)))];
  const positive = ends.filter((v) => v > 0);
  const least = 10 ** Math.floor(Math.log10(positive.reduce((a, b) => Math.min(a, b), 1e-5)) + 1e-9);
  const across = axis(data.axis, log ? [least * 1.15, ...positive] : [0, ...ends], small ? 3 : 6);
  // A length of 0 lies left of a logarithmic scale.
  const low = log ? least / 4 : across.min;
  const names = [...new Set(data.rows.flatMap((row) => row.parts.filter((p) => p.look === 'plain').map((p) => p.name)))];
  const key = legend(names.length > 1 ? names : [], room);
  const top = key.height + 8;
  const height = step * data.rows.length;
  const place = (value: number): number => (log ? Math.max(value, low) : value);

  const draw = (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): Shape => {
    const at = params.dataIndex;
    const row = data.rows[at];
    if (!row) return { type: 'group' };
    const children: Shape[] = [];
    let end = api.coord([low, at])[0] ?? 0;
    const middle = (api.coord([low, at])[1] ?? 0) + (small ? 9 : 0);
    for (const part of row.parts) {
      const from = api.coord([place(part.from), at])[0] ?? 0;
      const to = api.coord([place(part.to), at])[0] ?? 0;
      const style = fill(part, names);
      const begin = Math.min(from, to);
      children.push({
        type: 'rect',
        shape: { x: begin, y: middle - 8, width: Math.max(Math.abs(to - from), 3), height: 16 },
        style: { ...style, lineWidth: 1 },
      });
      if (part.look === 'plain' && names.length > 1 && wide(part.name, FONT - 1) + 8 <= to - from) {
        children.push({
          type: 'text',
          silent: true,
          style: { x: (from + to) / 2, y: middle, text: part.name, fill: PAPER, font: `${FONT - 1}px system-ui, sans-serif`, textAlign: 'center', textVerticalAlign: 'middle' },
        });
      }
      if (part.spread !== undefined) {
        const inside = part.to + part.spread <= most;
        const reach = api.coord([place(Math.min(part.to + part.spread, most)), at])[0] ?? to;
        const cap = inside ? [[reach, middle - 4], [reach, middle + 4]] : [[reach - 5, middle - 4], [reach, middle], [reach - 5, middle + 4]];
        children.push({
          type: 'polyline',
          shape: { points: [[to, middle], [reach, middle], ...cap] },
          style: { fill: 'none', stroke: INK, lineWidth: 1.2 },
        });
        end = Math.max(end, reach);
      }
      end = Math.max(end, from, to);
    }
    const text = (x: number, y: number, words: string, room_: number, align: string): Shape => ({
      type: 'text',
      silent: true,
      style: { x, y, text: clip(words, room_), fill: INK, font: `${FONT - 0.5}px system-ui, sans-serif`, textAlign: align, textVerticalAlign: 'middle' },
    });
    if (small) {
      children.push(text(left, middle - 18, `${row.label}: ${row.words}`, room.width - 30, 'left'));
    } else {
      children.push(text(left - 8, middle, row.label, left - 12, 'right'));
      children.push(text(end + 7, middle, row.words, room.width - end - 10, 'left'));
    }
    return { type: 'group', children };
  };

  const series: SeriesOption[] = [
    {
      type: 'custom',
      name: names[0] ?? '',
      encode: { x: 0, y: 1 },
      data: data.rows.map((row, at) => [place(row.parts[row.parts.length - 1]?.to ?? low), at]),
      renderItem: draw as never,
      clip: false,
    },
    // The names of the parts are in the legend; the bars of all parts are drawn above.
    ...names.slice(1).map((name): SeriesOption => ({
      type: 'custom',
      name,
      data: [],
      renderItem: (() => ({ type: 'group' })) as never,
    })),
  ];
  const ticks = (across.option['axisLabel'] as { customValues: number[] }).customValues;
  const values = log ? [low, ...ticks.filter((v) => v >= least * 0.99)] : ticks;
  const label = {
    ...(across.option['axisLabel'] as object),
    customValues: values,
    formatter: (value: number) => (log && value < least * 0.9 ? 'none' : show(data.axis.show, value)),
  };
  return {
    height: top + height + BOTTOM,
    items: data.rows.map((row, at): Item[] =>
      row.parts.map((part): Item => ({
        words: `${row.label}: ${part.words}`,
        series: part.name,
        at: [place(part.to), at],
        grid: 0,
        span: [place(part.from), place(part.to)],
        tall: step,
        ...(row.trial === undefined ? {} : { trial: row.trial }),
      })),
    ),
    columns: [data.axis.name, 'row'],
    option: {
      ...COMMON,
      color: names.map((_, at) => colour(at)),
      legend: { ...key.option, selectedMode: false },
      grid: [{ left, right, top, height }],
      xAxis: [
        {
          ...across.option,
          ...nameBelow(data.axis.name),
          min: low,
          axisLabel: label,
          axisTick: { ...(across.option['axisTick'] as object), customValues: values },
        },
      ],
      yAxis: [rowsDown(data.rows.length, { show: true, onZero: false, lineStyle: { color: QUIET } })],
      series,
    },
  };
}
