// Histograms of delays: bins of equal width, the series overlaid, mean and 3σ of each above them.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from 'echarts';
import type { DelayCurve, Delays } from '../data';
import { integer, number } from '../format';
import { clip, colour, dash, FONT, INK } from '../look';
import type { Drawing, Item, Room, SeriesOption } from './drawing';
import { axis, COMMON, nameAbove, nameBelow, narrow } from './drawing';

const STRIP = 17;
const BOTTOM = 46;

/** The upper edge of a histogram, from the floor to the floor. */
function outline(curve: DelayCurve, edge: (at: number) => number): [number, number][] {
  const out: [number, number][] = [[edge(0), 0]];
  curve.binned.counts.forEach((count, at) => {
    out.push([edge(at), count], [edge(at + 1), count]);
  });
  out.push([edge(curve.binned.counts.length), 0]);
  return out;
}

/** The option of delays. */
export function delays(data: Delays, room: Room): Drawing {
  const scale = data.unit.ps ?? 1;
  const edge = (at: number): number => (data.bins.low + data.bins.width * at) / scale;
  const { low, high } = { low: edge(0), high: edge(data.bins.count) };
  const names = data.curves.map((curve) => clip(curve.label, room.width * 0.3));
  const label = names.reduce((most, name) => Math.max(most, name.length), 0) * FONT * 0.56 + 12;
  const left = Math.max(48, label);
  const right = narrow(room) ? 74 : 84;
  const strips = STRIP * data.curves.length + 4;
  const top = strips + 24;
  const height = 170;
  const tallest = data.curves.flatMap((curve) => curve.binned.counts).reduce((a, b) => Math.max(a, b), 1);
  const unit = data.unit.name;
  const across = axis({ name: '', show: 'si', log: false }, [0, 1], 5);
  const up = axis({ name: 'frames', show: 'si', log: false }, [0, tallest], 4);
  const xAxis = {
    ...across.option,
    min: low,
    max: high,
    axisLabel: { color: 'var(--quiet)', fontSize: FONT - 1, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (value: number) => number(value) },
    axisTick: { show: true, lineStyle: { color: 'var(--quiet)' } },
    splitNumber: narrow(room) ? 4 : 6,
    splitLine: { show: false },
  };
  const strip = (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): unknown => {
    const at = params.dataIndex;
    const curve = data.curves[at];
    if (!curve) return { type: 'group' };
    const y = api.coord([low, at])[1] ?? 0;
    const x = (value: number): number => api.coord([Math.min(high, Math.max(low, value / scale)), at])[0] ?? 0;
    const inside = (value: number): boolean => value / scale >= low && value / scale <= high;
    const [from, middle, to] = [curve.mean - curve.three_sigma, curve.mean, curve.mean + curve.three_sigma];
    const style = { stroke: colour(at), fill: 'none', lineWidth: 1.5 };
    // A whisker that leaves the picture gets no end.
    const ends = [from, to].filter(inside).map((value) => ({
      type: 'line',
      shape: { x1: x(value), x2: x(value), y1: y - 4, y2: y + 4 },
      style,
    }));
    const text = (at_: number, words: string, align: string): unknown => ({
      type: 'text',
      style: { x: at_, y, text: words, fill: INK, font: `${FONT - 0.5}px system-ui, sans-serif`, textAlign: align, textVerticalAlign: 'middle' },
    });
    return {
      type: 'group',
      children: [
        text(left - 8, names[at] ?? '', 'right'),
        { type: 'line', shape: { x1: x(from), x2: x(to), y1: y, y2: y }, style },
        ...ends,
        ...(inside(middle)
          ? [{ type: 'circle', shape: { cx: x(middle), cy: y, r: 4 }, style: { fill: colour(at), stroke: 'var(--paper)' } }]
          : []),
        ...(curve.binned.beyond > 0 ? [text(room.width - right + 6, `${integer(curve.binned.beyond)} beyond`, 'left')] : []),
      ],
    };
  };
  const series: SeriesOption[] = data.curves.map((curve, at) => ({
    type: 'line',
    name: curve.label,
    data: outline(curve, edge),
    symbol: 'none',
    xAxisIndex: 0,
    yAxisIndex: 0,
    lineStyle: { color: colour(at), width: 1.4, type: dash(at) },
    itemStyle: { color: colour(at) },
    areaStyle: { color: colour(at), opacity: 0.2 },
  }));
  series.push({
    type: 'custom',
    xAxisIndex: 1,
    yAxisIndex: 1,
    silent: true,
    data: data.curves.map((_, at) => [low, at]),
    renderItem: strip as never,
    clip: false,
  });
  const words = (curve: DelayCurve, at: number, count: number): string =>
    `${curve.label}: ${integer(count)} frames from ${number(edge(at))} to ${number(edge(at + 1))} ${unit}; ` +
    `mean ${number(curve.mean / scale)}, 3σ ${number(curve.three_sigma / scale)} ${unit}`;
  const none = { show: false };
  return {
    height: top + height + BOTTOM,
    items: data.curves.map((curve): Item[] =>
      curve.binned.counts
        .map((count, at): Item => ({
          words: words(curve, at, count),
          series: curve.label,
          at: [(edge(at) + edge(at + 1)) / 2, count],
          grid: 0,
        }))
        .filter((item) => item.at[1] > 0),
    ),
    columns: [`delay in ${unit}`, 'frames'],
    option: {
      ...COMMON,
      legend: { show: false },
      grid: [
        { left, right, top, height },
        { left, right, top: 2, height: strips },
      ],
      xAxis: [
        { ...xAxis, ...nameBelow(`delay in ${unit}`) },
        { type: 'value', gridIndex: 1, min: low, max: high, axisLine: none, axisTick: none, axisLabel: none, splitLine: none },
      ],
      yAxis: [
        { ...up.option, ...nameAbove(`frames in each ${number(data.bins.width / scale)} ${unit}`, left) },
        { type: 'value', gridIndex: 1, inverse: true, min: -0.5, max: data.curves.length - 0.5, axisLine: none, axisTick: none, axisLabel: none, splitLine: none },
      ],
      series,
    },
  };
}
