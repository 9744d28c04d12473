// Distributions: percentiles on a scale that shows one late frame in a million, cumulative shares, and bins.

import type { Axis, Samples, SampleSeries } from '../data';
import { integer, show } from '../format';
import { colour, dash, FONT, INK, LIMIT, PAPER } from '../look';
import type { Drawing, Item, Room, SeriesOption } from './drawing';
import { axis, COMMON, legend, nameAbove, nameBelow, narrow } from './drawing';

export type View = 'percentiles' | 'shares' | 'bins';
export const VIEWS: [View, string][] = [
  ['percentiles', 'Percentiles'],
  ['shares', 'CDF'],
  ['bins', 'Histogram'],
];

const TOP = 26;
const BOTTOM = 42;

/** The share of samples that a place of the percentile axis stands for: 1, 10 and 100 are 0, 90 and 99 %. */
function percent(place: number): string {
  if (place < 1.5) return '0\u00a0%';
  const digits = Math.max(0, Math.ceil(Math.log10(place)) - 2);
  return `${(100 * (1 - 1 / place)).toFixed(Math.min(digits, 8)).replace(/\.0+$/, '')}\u00a0%`;
}

/** Values over a wide range need a logarithmic axis. */
function values(data: Samples, series: SampleSeries[]): Axis {
  const lows = series.map((s) => s.range[0]).filter((v) => v > 0);
  const low = lows.reduce((a, b) => Math.min(a, b), Infinity);
  const high = series.reduce((most, s) => Math.max(most, s.range[1]), 0);
  return { name: data.name, show: data.show, log: low > 0 && high > 6 * low };
}

type Curve = { points: [number, number][]; words: (x: number, y: number) => string };

/** Places on the percentile axis, and their values. */
function places(data: Samples, s: SampleSeries): [number, number][] {
  return s.percentiles.map(([step, value]) => [Math.min(10 ** (step / data.steps), s.count), value]);
}

function curve(data: Samples, s: SampleSeries, view: View): Curve {
  const value = (v: number): string => show(data.show, v);
  const count = `${integer(s.count)} samples, ${s.kind}`;
  switch (view) {
    case 'percentiles':
      return {
        points: places(data, s),
        words: (x, y) => `${percent(x)} of ${data.name}s within ${value(y)}; ${count}`,
      };
    case 'shares':
      return {
        points: places(data, s).map(([x, v]) => [v, 1 - 1 / x]),
        words: (x, y) => `${show('share', y)} within ${value(x)}; ${count}`,
      };
    case 'bins': {
      const { low, factor, counts } = s.bins;
      return {
        points: counts.map((n, at): [number, number] => [low * factor ** (at + 0.5), n]).filter(([, n]) => n > 0),
        words: (x, y) =>
          `${integer(y)} samples from ${value(x / Math.sqrt(factor))} to ${value(x * Math.sqrt(factor))}; ${count}`,
      };
    }
  }
}

interface Axes {
  x: Axis;
  y: Axis;
}

function axes(data: Samples, series: SampleSeries[], view: View): Axes {
  const of = values(data, series);
  switch (view) {
    case 'percentiles':
      return { x: { name: 'share that is as short', show: 'integer', log: true }, y: of };
    case 'shares':
      return { x: of, y: { name: 'share within', show: 'share', log: false, high: 1 } };
    case 'bins':
      return { x: of, y: { name: 'samples', show: 'si', log: true } };
  }
}

/** The bins of a series as steps; empty bins lie on the floor. */
function stair(s: SampleSeries, floor: number): [number, number][] {
  const { low, factor, counts } = s.bins;
  const out: [number, number][] = [];
  counts.forEach((n, at) => {
    const level = n > 0 ? n : floor;
    out.push([low * factor ** at, level], [low * factor ** (at + 1), level]);
  });
  return out;
}

/** The option of a distribution: the selected series, in one of its views. */
export function samples(data: Samples, chosen: SampleSeries[], view: View, room: Room): Drawing {
  const small = narrow(room);
  const left = small ? 56 : 64;
  const right = small ? 16 : 26;
  const key = legend(chosen.map((s) => s.name), room);
  const top = key.height + TOP;
  const height = small ? 230 : 270;
  const { x, y } = axes(data, chosen, view);
  const curves = chosen.map((s) => curve(data, s, view));
  const marks = view === 'percentiles' ? [] : chosen.flatMap((s) => (s.mark ? [s.mark[0]] : []));
  const xs = [...curves.flatMap((c) => c.points.map((p) => p[0])), ...marks];
  const ys = curves.flatMap((c) => c.points.map((p) => p[1]));
  // The floor lies below one sample, so that a single one still stands above it.
  const floor = 0.7;
  const across = axis(x, xs, small ? 4 : 8);
  const up = axis(y, view === 'bins' ? [...ys, 0.81, 10] : ys, 6);
  if (view === 'percentiles') {
    const label = across.option['axisLabel'] as Record<string, unknown>;
    label['formatter'] = percent;
    across.option['min'] = 1;
  }
  const series: SeriesOption[] = chosen.map((s, at) => {
    const c = curves[at];
    const own = colour(at);
    return {
      type: 'line',
      name: s.name,
      data: view === 'bins' ? stair(s, floor) : (c?.points ?? []),
      showSymbol: view !== 'bins',
      symbol: 'circle',
      symbolSize: 3.5,
      clip: true,
      lineStyle: { color: own, width: 1.6, type: dash(at) },
      itemStyle: { color: own, borderColor: PAPER, borderWidth: 0 },
      ...(view === 'bins' ? { areaStyle: { color: own, opacity: 0.25, origin: 'start' as const } } : {}),
    };
  });
  for (const at of [...new Set(marks)]) {
    series.push({
      type: 'line',
      silent: true,
      symbol: 'none',
      lineStyle: { color: LIMIT, type: [6, 4], width: 1.4 },
      data: [
        [at, up.min],
        {
          value: [at, up.max],
          symbol: 'circle',
          symbolSize: 0.1,
          label: { show: true, position: 'right', formatter: 'requested', color: INK, fontSize: FONT, offset: [0, 8] },
        },
      ],
    });
  }
  const items = chosen.map((s, at): Item[] =>
    (curves[at]?.points ?? []).map((p): Item => ({
      words: `${s.name ? `${s.name}: ` : ''}${curves[at]?.words(p[0], p[1]) ?? ''}`,
      series: s.name,
      at: p,
      grid: 0,
      ...(s.trial === undefined ? {} : { trial: s.trial }),
    })),
  );
  return {
    height: top + height + BOTTOM,
    items,
    columns: [x.name, y.name],
    option: {
      ...COMMON,
      legend: key.option,
      grid: [{ left, right, top, height }],
      xAxis: [{ ...across.option, ...nameBelow(x.name) }],
      yAxis: [{ ...up.option, ...nameAbove(y.name, left) }],
      series,
    },
  };
}
