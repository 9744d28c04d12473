// Two periods of a node: a lane for each resource, a box for each frame in a stage.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from 'echarts';
import type { Timeline, Work } from '../data';
import { FONT, INK, LIMIT, PAPER, QUIET, clip, width as wide } from '../look';
import type { Drawing, Item, Room, SeriesOption } from './drawing';
import { axis, COMMON, nameBelow, narrow, rowsDown } from './drawing';

const LANE = 40;

/** The option of a timeline. */
export function timeline(data: Timeline, room: Room): Drawing {
  const small = narrow(room);
  const longest = data.lanes.reduce((most, lane) => Math.max(most, wide(lane.name)), 30);
  const left = small ? 12 : longest + 16;
  const lane = small ? LANE + 16 : LANE;
  const height = lane * data.lanes.length;
  const boxes = data.lanes.flatMap((of, at) => of.boxes.map((box): [number, Work] => [at, box]));
  const across = axis({ name: data.name, show: 'time', log: false, high: data.span_ps }, [], small ? 3 : 6);
  const draw = (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): unknown => {
    const found = boxes[params.dataIndex];
    if (!found) return { type: 'group' };
    const [at, box] = found;
    const [from = 0, middle = 0] = api.coord([box.from_ps, at]);
    const to = api.coord([box.to_ps, at])[0] ?? from;
    const across_ = Math.max(to - from, 1);
    const y = middle + (small ? 8 : 0);
    const fits = [box.label, box.frame].find((text) => wide(text, FONT - 1) + 8 <= across_);
    return {
      type: 'group',
      children: [
        {
          type: 'rect',
          shape: { x: from, y: y - 13, width: across_, height: 26 },
          style: box.critical
            ? { fill: 'var(--tx)', stroke: PAPER, lineWidth: across_ < 4 ? 0 : 1 }
            : { fill: PAPER, stroke: QUIET, lineDash: [3, 2], lineWidth: 1 },
        },
        ...(fits === undefined
          ? []
          : [
              {
                type: 'text',
                silent: true,
                style: {
                  x: from + across_ / 2,
                  y,
                  text: fits,
                  fill: box.critical ? PAPER : INK,
                  font: `${FONT - 1}px system-ui, sans-serif`,
                  textAlign: 'center',
                  textVerticalAlign: 'middle',
                },
              },
            ]),
      ],
    };
  };
  const named = (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): unknown => {
    const [x = 0, y = 0] = api.coord([0, params.dataIndex]);
    const name = data.lanes[params.dataIndex]?.name ?? '';
    return {
      type: 'text',
      silent: true,
      style: {
        x: small ? x : x - 8,
        y: small ? y - 14 : y,
        text: clip(name, small ? room.width : left),
        fill: INK,
        font: `${FONT}px system-ui, sans-serif`,
        textAlign: small ? 'left' : 'right',
        textVerticalAlign: 'middle',
      },
    };
  };
  const period = data.period_ps > 0 && data.period_ps < data.span_ps;
  const series: SeriesOption[] = [
    { type: 'custom', silent: true, data: data.lanes.map((_, at) => [0, at]), renderItem: named as never, clip: false },
    { type: 'custom', data: boxes.map(([at, box]) => [box.from_ps, at]), renderItem: draw as never, clip: true },
    ...(period
      ? [
          {
            type: 'line' as const,
            silent: true,
            symbol: 'none',
            lineStyle: { color: LIMIT, type: [3, 4], width: 1.2 },
            data: [[data.period_ps, -0.5], [data.period_ps, data.lanes.length - 0.5]],
          },
        ]
      : []),
  ];
  return {
    height: 8 + height + 48,
    items: data.lanes.map((of, at): Item[] =>
      of.boxes.map((box): Item => ({
        words: `${of.name}: ${box.words}`,
        series: of.name,
        at: [(box.from_ps + box.to_ps) / 2, at],
        grid: 0,
        span: [box.from_ps, box.to_ps],
        tall: lane,
      })),
    ),
    columns: ['middle in ps', 'lane'],
    option: {
      ...COMMON,
      legend: { show: false },
      grid: [{ left, right: 24, top: 8, height }],
      xAxis: [{ ...across.option, ...nameBelow(data.name) }],
      yAxis: [rowsDown(data.lanes.length)],
      series,
      dataZoom: [{ type: 'inside', xAxisIndex: 0, zoomOnMouseWheel: 'ctrl', filterMode: 'none' }],
    },
  };
}
