// The spans of latencies: a vertical line for each event on a frame's path, a bar from the first to the last event of each
// figure.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from 'echarts';
import type { Spans } from '../data';
import { colour, FONT, INK, PAPER, QUIET, RULE, clip, width as wide } from '../look';
import type { Drawing, Item, Room } from './drawing';
import { COMMON, narrow, rowsDown } from './drawing';

const LANE = 26;
const TOP = 44;

/** The option of the picture. */
export function spans(data: Spans, room: Room): Drawing {
  const small = narrow(room);
  const longest = data.rows.reduce((most, row) => Math.max(most, wide(row.name)), 30);
  const left = small ? 12 : 1.15 * longest + 20;
  const lane = small ? LANE + 14 : LANE;
  // More space than the names need would move events of one node apart.
  const most = data.events.length * 130 + left;
  const right = Math.max(12, room.width - most);
  const height = lane * data.rows.length + 6;
  const bars = data.rows.flatMap((row, at) => row.parts.map((part) => ({ row, at, part })));
  const draw = (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): unknown => {
    const bar = bars[params.dataIndex];
    if (!bar) return { type: 'group' };
    const [from = 0, middle = 0] = api.coord([bar.part[0], bar.at]);
    const to = api.coord([bar.part[1], bar.at])[0] ?? from;
    const y = middle + (small ? 8 : 0);
    const stroke = colour(bar.at);
    const end = (x: number): unknown => ({ type: 'line', shape: { x1: x, y1: y - 6, x2: x, y2: y + 6 }, style: { stroke, lineWidth: 2 } });
    return {
      type: 'group',
      children: [
        { type: 'rect', shape: { x: from, y: y - 3, width: Math.max(to - from, 1), height: 6 }, style: { fill: stroke } },
        end(from),
        end(to),
      ],
    };
  };
  const named = (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): unknown => {
    const y = api.coord([0, params.dataIndex])[1] ?? 0;
    return {
      type: 'text',
      silent: true,
      style: {
        x: small ? left : left - 10,
        y: small ? y - 10 : y,
        text: clip(data.rows[params.dataIndex]?.name ?? '', small ? room.width : left),
        fill: INK,
        backgroundColor: PAPER,
        padding: [0, 4, 0, 0],
        font: `${FONT}px system-ui, sans-serif`,
        textAlign: small ? 'left' : 'right',
        textVerticalAlign: 'middle',
      },
    };
  };
  return {
    height: TOP + height + 8,
    items: data.rows.map((row, at): Item[] =>
      row.parts.map(([from, to]): Item => ({
        words: row.words,
        series: row.name,
        at: [(from + to) / 2, at],
        grid: 0,
        span: [from, to],
        tall: lane,
      })),
    ),
    columns: ['middle between events', 'row'],
    option: {
      ...COMMON,
      legend: { show: false },
      grid: [{ left, right, top: TOP, height }],
      xAxis: [
        {
          type: 'value',
          position: 'top',
          min: -0.5,
          max: data.events.length - 0.5,
          axisLine: { show: false },
          axisTick: { show: false },
          axisLabel: {
            customValues: data.events.map((_, at) => at),
            hideOverlap: false,
            color: QUIET,
            fontSize: FONT,
            lineHeight: 16,
            // Names of neighbours alternate between two lines if space is scarce.
            formatter: (at: number) => `${small && at % 2 === 0 ? '' : '\n'}${data.events[at]?.name ?? ''}${small && at % 2 === 0 ? '\n' : ''}`,
          },
          splitLine: { show: false },
        },
      ],
      yAxis: [rowsDown(data.rows.length)],
      series: [
        ...data.events.map((_, at) => ({
          type: 'line' as const,
          silent: true,
          symbol: 'none',
          lineStyle: { color: RULE, width: 1.2 },
          data: [[at, -0.5], [at, data.rows.length - 0.5]],
        })),
        { type: 'custom', silent: true, data: data.rows.map((_, at) => [0, at]), renderItem: named as never, clip: false },
        { type: 'custom', data: bars.map(({ at, part }) => [part[0], at]), renderItem: draw as never, clip: false },
      ],
    },
  };
}
