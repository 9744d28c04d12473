// Points and curves over a common axis, in one pane or several stacked ones.

import type { LineSeriesOption } from 'echarts/charts';
import type { Line, Plane, PlaneSeries } from '../data';
import { colour, dash, directed, FONT, INK, LIMIT, mark, PAPER, shape } from '../look';
import type { Drawing, Item, Room, SeriesOption } from './drawing';
import { axis, COMMON, legend, nameAbove, nameBelow, narrow } from './drawing';

const TOP = 26;
const BOTTOM = 42;
const GAP = 34;

function lineStyle(line: Line, at: number): { color: string; type: number[] | 'solid' | 'dashed'; width: number } {
  switch (line.look) {
    case 'limit':
      return { color: LIMIT, type: [6, 4], width: 1.6 };
    case 'per_packet':
      return { color: colour(at), type: 'solid', width: 1.6 };
    case 'per_byte':
      return { color: colour(at), type: [2, 4], width: 1.8 };
  }
}

function items(series: PlaneSeries, grid: number): Item[] {
  const all = series.points.map((p): Item => ({
    words: p.words,
    series: series.name,
    at: [p.x, p.y],
    grid,
    ...(p.trial === undefined ? {} : { trial: p.trial }),
  }));
  return all.sort((a, b) => a.at[0] - b.at[0]);
}

/** A series: its marks, the line that joins them, and a stroke up to the upper bound of a figure. */
function drawn(series: PlaneSeries, at: number, grid: number): SeriesOption[] {
  const own = series.direction ? directed(series.direction) : colour(at);
  const look = mark(series.direction, series.kind, own);
  const data = series.points.map((p) => ({
    value: [p.x, p.y],
    ...(p.tester ? { itemStyle: { color: PAPER } } : {}),
  }));
  // Without a line or a direction, the shape distinguishes a series if the colour does not.
  const shaped = series.direction || series.joined ? {} : { symbol: shape(at) };
  const shared = { name: series.name, xAxisIndex: grid, yAxisIndex: grid, data, ...look, ...shaped };
  const out: SeriesOption[] = [
    series.joined
      ? {
          ...shared,
          type: 'line',
          showSymbol: true,
          symbolSize: series.points.length > 24 ? 3 : 6,
          lineStyle: { color: own, width: 1.6, type: dash(at) },
        }
      : { ...shared, type: 'scatter', z: 4 },
  ];
  const strokes = (of: [number, number, number][], width: number, type: number[] | 'solid'): void => {
    if (of.length === 0) return;
    out.push({
      type: 'line',
      xAxisIndex: grid,
      yAxisIndex: grid,
      silent: true,
      symbol: 'none',
      lineStyle: { color: own, width, type },
      data: of.flatMap(([x, from, to]) => [[x, from], [x, to], [x, NaN]]),
    });
  };
  strokes(series.points.flatMap((p) => (p.at_most === undefined ? [] : [[p.x, p.y, p.at_most]])), 1.4, [3, 2]);
  strokes(series.points.flatMap((p) => (p.spread === undefined ? [] : [[p.x, ...p.spread]])), 1.6, 'solid');
  return out;
}

/** The option of a plane. */
export function plane(data: Plane, room: Room): Drawing {
  const small = narrow(room);
  const left = small ? 52 : 60;
  const right = small ? 14 : 24;
  const names = [
    ...new Set(data.panes.flatMap((pane) => [...pane.series.map((s) => s.name), ...pane.lines.map((l) => l.name)])),
  ].filter((name) => name !== '');
  const lines = data.panes.flatMap((pane) => pane.lines.filter((l) => l.look === 'limit').map((l) => l.name));
  const key = legend(names, room, lines);
  const xs = data.panes.flatMap((pane) => pane.series.flatMap((s) => s.points.map((p) => p.x)));
  const marks = data.marked.map(([x]) => x);
  const heights = data.panes.map((_, at) => (data.panes.length === 1 ? (small ? 240 : 320) : at === 0 ? 210 : 110));
  const series: SeriesOption[] = [];
  const grids: Record<string, unknown>[] = [];
  const acrosses: Record<string, unknown>[] = [];
  const ups: Record<string, unknown>[] = [];
  const all: Item[][] = [];
  let top = key.height + TOP;
  data.panes.forEach((pane, grid) => {
    const height = heights[grid] ?? 110;
    const last = grid === data.panes.length - 1;
    grids.push({ left, right, top, height });
    top += height + (last ? 0 : GAP);
    const ys = pane.series.flatMap((s) => s.points.flatMap((p) => [p.y, p.at_most ?? p.y, ...(p.spread ?? [])]));
    const lineYs = pane.y.high === undefined ? pane.lines.flatMap((l) => l.points.map(([, y]) => y)) : [];
    const across = axis(data.x, [...xs, ...marks], small ? 4 : 8, last);
    acrosses.push({ ...across.option, gridIndex: grid, ...(last ? nameBelow(data.x.name) : {}) });
    const up = axis(pane.y, [...ys, ...lineYs], height > 150 ? 6 : 3);
    ups.push({ ...up.option, gridIndex: grid, ...nameAbove(pane.y.name, left) });
    pane.lines.forEach((line, at) => {
      const curve: LineSeriesOption = {
        type: 'line',
        name: line.name,
        xAxisIndex: grid,
        yAxisIndex: grid,
        silent: true,
        symbol: 'none',
        z: 1,
        clip: true,
        lineStyle: lineStyle(line, at),
        itemStyle: { color: lineStyle(line, at).color },
        data: line.points,
      };
      series.push(curve);
    });
    const middle = data.x.log ? Math.sqrt(across.min * across.max) : (across.min + across.max) / 2;
    data.marked.forEach(([x, name], at) => {
      series.push({
        type: 'line',
        xAxisIndex: grid,
        yAxisIndex: grid,
        silent: true,
        symbol: 'none',
        z: 5,
        lineStyle: { color: LIMIT, type: [6, 4], width: 1.4 },
        // Neighbouring names are stacked.
        data: [
          {
            value: [x, up.min],
            symbol: 'circle',
            symbolSize: 0.1,
            // At the bottom, where a rising curve leaves space.
            label: {
              show: grid === 0,
              position: x > middle ? 'left' : 'right',
              formatter: name,
              color: INK,
              fontSize: FONT,
              backgroundColor: PAPER,
              padding: [1, 3],
              offset: [0, -12 - 18 * at],
            },
          },
          [x, up.max],
        ],
        showSymbol: true,
      });
    });
    pane.series.forEach((s, at) => {
      series.push(...drawn(s, at, grid));
      all.push(items(s, grid));
    });
  });
  return {
    height: top + BOTTOM,
    items: all,
    columns: [data.x.name, data.panes.map((pane) => pane.y.name).join(' / ')],
    option: {
      ...COMMON,
      legend: key.option,
      grid: grids,
      xAxis: acrosses,
      yAxis: ups,
      series,
      dataZoom: [
        {
          type: 'inside',
          xAxisIndex: grids.map((_, at) => at),
          zoomOnMouseWheel: 'ctrl',
          moveOnMouseMove: 'shift',
          preventDefaultMouseMove: false,
          filterMode: 'none',
        },
      ],
    },
  };
}
