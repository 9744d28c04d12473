// Common to all pictures: their option for the charting library, and the figures that a reader steps through.

import type { CustomSeriesOption, LineSeriesOption, ScatterSeriesOption } from 'echarts/charts';
import type {
  DataZoomComponentOption,
  GridComponentOption,
  LegendComponentOption,
} from 'echarts/components';
import type { ComposeOption } from 'echarts/core';
import type { Axis } from '../data';
import { digitsOf, range, show } from '../format';
import { FONT, INK, QUIET, RULE, width as wide } from '../look';

export type Option = ComposeOption<
  | CustomSeriesOption
  | LineSeriesOption
  | ScatterSeriesOption
  | GridComponentOption
  | LegendComponentOption
  | DataZoomComponentOption
>;
export type SeriesOption = LineSeriesOption | ScatterSeriesOption | CustomSeriesOption;

/** A figure that a reader may point at or reach with the keyboard. */
export interface Item {
  /** Value, unit and subject. */
  words: string;
  /** The name of its series, for a file of its data. */
  series: string;
  /** Its place on the axes of its grid. */
  at: [number, number];
  /** The grid. */
  grid: number;
  /** The trial it comes from. */
  trial?: number;
  /** The horizontal range of a box, and its height in pixels; a point has neither. */
  span?: [number, number];
  tall?: number;
}

export interface Drawing {
  option: Option;
  height: number;
  /** Figures by series, from left to right. */
  items: Item[][];
  /** The names of the two values of an item. */
  columns: [string, string];
}

/** The settings of a drawing. */
export interface Room {
  /** In pixels. */
  width: number;
}

/** Whether space is so scarce that labels stand above their objects. */
export function narrow(room: Room): boolean {
  return room.width < 560;
}

interface AxisOption {
  min: number;
  max: number;
  option: Record<string, unknown>;
}

/** An axis with its own ticks. `labelled` is false if another one below has the labels. */
export function axis(of: Axis, values: number[], wanted: number, labelled = true): AxisOption {
  const { low, high, ticks } = range(of, values, wanted);
  const customValues = ticks;
  const digits = digitsOf(of.show, ticks);
  return {
    min: low,
    max: high,
    option: {
      type: of.log ? 'log' : 'value',
      min: low,
      max: high,
      axisLine: { show: true, onZero: false, lineStyle: { color: QUIET } },
      axisTick: { show: labelled, customValues, lineStyle: { color: QUIET } },
      minorTick: { show: false },
      axisLabel: {
        show: labelled,
        customValues,
        color: QUIET,
        fontSize: FONT - 1,
        hideOverlap: true,
        formatter: (value: number) => show(of.show, value, digits),
      },
      splitLine: { show: true, lineStyle: { color: RULE, width: 0.7 } },
      axisPointer: { show: false },
    },
  };
}

/** The name of a horizontal axis, in the middle below it. */
export function nameBelow(name: string, gap = 28): Record<string, unknown> {
  return {
    name,
    nameLocation: 'middle',
    nameGap: gap,
    nameTextStyle: { color: QUIET, fontSize: FONT },
  };
}

/** The name of a vertical axis, above it as a line of text. */
export function nameAbove(name: string, left: number): Record<string, unknown> {
  return {
    name,
    nameLocation: 'end',
    nameGap: 9,
    nameTextStyle: { color: QUIET, fontSize: FONT, align: 'left', padding: [0, 0, 0, -left + 6] },
  };
}

/** The sign of a line without marks in a legend. */
const STROKES = 'path://M0 4h7v2H0zM10 4h7v2h-7zM20 4h7v2h-7z';

/** A legend at the top, and its height; `lines` are the names of series without marks. */
export function legend(names: string[], room: Room, lines: string[] = []): { option: LegendComponentOption; height: number } {
  const shown = names.filter((name) => name !== '');
  let rows = shown.length > 0 ? 1 : 0;
  let across = 0;
  const most = room.width - 24;
  for (const name of shown) {
    const takes = wide(name) + 44;
    if (across + takes > most && across > 0) {
      rows += 1;
      across = 0;
    }
    across += takes;
  }
  return {
    height: rows * 21,
    option: {
      show: shown.length > 0,
      data: shown.map((name) => (lines.includes(name) ? { name, icon: STROKES } : { name })),
      top: 0,
      left: 4,
      width: most,
      itemWidth: 20,
      itemHeight: 10,
      itemGap: 12,
      selectedMode: shown.length > 1,
      inactiveColor: RULE,
      textStyle: { color: INK, fontSize: FONT, width: most - 30, overflow: 'truncate' },
    },
  };
}

/** The common part of every option. */
/* Single quotes: the library writes the family into an attribute as it is. */
export const COMMON = {
  animation: false,
  textStyle: { color: INK, fontFamily: "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif" },
} as const;

/** The vertical axis of a picture of rows, the first on top, without labels; without a line at its side unless one is given. */
export function rowsDown(count: number, side: object = { show: false }) {
  return {
    type: 'value' as const,
    inverse: true,
    min: -0.5,
    max: count - 0.5,
    axisLabel: { show: false },
    axisTick: { show: false },
    axisLine: side,
    splitLine: { show: false },
  };
}
