// Paths of calls: functions as bars, as wide as their cost, with the called functions above.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from 'echarts';
import type { Flame, FlameBar } from '../data';
import { integer, number } from '../format';
import { clip, FONT, PAPER, width as wide } from '../look';
import type { Drawing, Item, Room, SeriesOption } from './drawing';
import { axis, COMMON, nameBelow, rowsDown } from './drawing';

const ROW = 20;
/** The text colour of all bars, which are pale in either theme. */
const WORDS = '#16181c';

/** The colour: in a difference by the growth, else by the name, so that equal functions look alike. */
function colour(bar: FlameBar, isDifference: boolean): string {
  if (!isDifference) {
    let hash = 7;
    for (let at = 0; at < bar.name.length; at += 1) hash = (hash * 31 + bar.name.charCodeAt(at)) % 4096;
    return `rgb(${220 + (hash % 32)}, ${130 + (Math.floor(hash / 32) % 96)}, 90)`;
  }
  const share = (bar.now - bar.before) / Math.max(bar.now, bar.before, Number.MIN_VALUE);
  const pale = 240 - Math.sqrt(Math.abs(share)) * 130;
  if (share > 0) return `rgb(240, ${pale}, ${pale})`;
  return share < 0 ? `rgb(${pale}, ${pale}, 240)` : 'rgb(232, 232, 232)';
}

function label(bar: FlameBar, isDifference: boolean): string {
  if (!isDifference || bar.now === bar.before) return bar.name;
  return `${bar.now > bar.before ? '▲' : '▼'} ${bar.name}`;
}

/** The option of a flame graph. */
export function flame(data: Flame, room: Room): Drawing {
  const rows = data.bars.reduce((most, bar) => Math.max(most, bar.depth + 1), 1);
  const height = ROW * rows;
  const figure = (value: number): string => (Number.isInteger(value) ? integer(value) : number(value));
  const across = axis({ name: data.name, show: 'si', log: false, high: data.whole }, [], room.width < 560 ? 3 : 6);
  const draw = (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): unknown => {
    const bar = data.bars[params.dataIndex];
    if (!bar) return { type: 'group' };
    const [from = 0, middle = 0] = api.coord([bar.from, bar.depth]);
    const to = api.coord([bar.from + bar.now, bar.depth])[0] ?? from;
    const y = middle - ROW / 2;
    const text = clip(label(bar, data.is_difference), to - from - 6, FONT - 1);
    return {
      type: 'group',
      children: [
        {
          type: 'rect',
          shape: { x: from, y, width: Math.max(to - from, 0.5), height: ROW },
          style: { fill: colour(bar, data.is_difference), stroke: PAPER, lineWidth: to - from < 3 ? 0 : 1 },
        },
        ...(wide(text, FONT - 1) > to - from - 6
          ? []
          : [
              {
                type: 'text',
                silent: true,
                style: {
                  x: from + 3,
                  y: middle,
                  text,
                  fill: WORDS,
                  font: `${FONT - 1}px system-ui, sans-serif`,
                  textVerticalAlign: 'middle',
                },
              },
            ]),
      ],
    };
  };
  const series: SeriesOption[] = [
    { type: 'custom', data: data.bars.map((bar) => [bar.from, bar.depth]), renderItem: draw as never, clip: true },
  ];
  const items: Item[][] = Array.from({ length: rows }, () => []);
  for (const bar of data.bars) {
    items[bar.depth]?.push({
      words: `${bar.name}: ${figure(bar.now)} ${data.name}${data.is_difference ? `, before ${figure(bar.before)}` : ''}`,
      series: `${bar.depth}`,
      at: [bar.from + bar.now / 2, bar.depth],
      grid: 0,
      span: [bar.from, bar.from + bar.now],
      tall: ROW,
    });
  }
  return {
    height: 8 + height + 48,
    items,
    columns: ['middle', 'depth'],
    option: {
      ...COMMON,
      legend: { show: false },
      grid: [{ left: 12, right: 24, top: 8, height }],
      xAxis: [{ ...across.option, ...nameBelow(data.name) }],
      // The caller is below the called functions.
      yAxis: [{ ...rowsDown(rows), inverse: false }],
      series,
      dataZoom: [{ type: 'inside', xAxisIndex: 0, zoomOnMouseWheel: 'ctrl', filterMode: 'none' }],
    },
  };
}
