// The look of pictures: colours are the page's own, so that its theme and print styles apply; the shape of marks shows the
// direction, and their fill the kind of figure.

import type { Direction, Kind } from './data';

export const INK = 'var(--ink)';
export const QUIET = 'var(--quiet)';
export const RULE = 'var(--rule)';
export const PAPER = 'var(--paper)';
export const LIMIT = 'var(--limit)';
export const FONT = 12;

const SERIES = ['--h0', '--h1', '--h2', '--h3', '--h4', '--h5', '--h6', '--h7'];
const DASHES: (number[] | 'solid')[] = ['solid', [6, 2], [2, 2], [9, 2, 2, 2], [4, 4], [1, 3]];

export function colour(at: number): string {
  return `var(${SERIES[at % SERIES.length] ?? '--h0'})`;
}

export function dash(at: number): number[] | 'solid' {
  return DASHES[at % DASHES.length] ?? 'solid';
}

/** The colour of a direction. */
export function directed(direction: Direction): string {
  switch (direction) {
    case 'transmit':
      return 'var(--tx)';
    case 'receive':
      return 'var(--rx)';
    default:
      return 'var(--echo)';
  }
}

/** The shape of the marks of a series without a line. */
export function shape(at: number): string {
  return ['circle', 'rect', 'triangle', 'diamond'][at % 4] ?? 'circle';
}

export interface Mark {
  symbol: string;
  symbolSize: number;
  itemStyle: {
    color: string;
    borderColor: string;
    borderWidth: number;
    borderType: 'solid' | number[];
  };
}

/** The mark of a figure: shape by direction, fill by kind. */
export function mark(direction: Direction | null, kind: Kind | null, own: string): Mark {
  const shapes: Record<Direction, string> = {
    transmit: 'path://M5 0L10 9L0 9z',
    receive: 'path://M0 0L10 0L5 9z',
    both: 'diamond',
    echo: 'diamond',
  };
  const filled = kind === null || kind === 'measured';
  const dashes: Partial<Record<Kind, number[]>> = { emulated: [4, 2], calibrated: [1.5, 1.5] };
  return {
    symbol: direction ? shapes[direction] : 'circle',
    symbolSize: direction ? 11 : 8,
    itemStyle: {
      color: filled ? own : PAPER,
      borderColor: own,
      borderWidth: kind === 'published' ? 3 : 1.5,
      borderType: (kind && dashes[kind]) ?? 'solid',
    },
  };
}

/** The approximate width of a text. */
export function width(text: string, size = FONT): number {
  return text.length * size * 0.56;
}

/** A text cut to a width. */
export function clip(text: string, room: number, size = FONT): string {
  const most = Math.max(3, Math.floor(room / (size * 0.56)));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
