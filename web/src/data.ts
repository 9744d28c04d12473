// The data of a page's pictures, as crates/report/src/chart/ writes them.

export type Show = 'si' | 'time' | 'share' | 'integer';
export type Direction = 'transmit' | 'receive' | 'both' | 'echo';
export type Kind = 'measured' | 'emulated' | 'predicted' | 'calibrated' | 'published';

export interface Axis {
  name: string;
  show: Show;
  log: boolean;
  high?: number;
  close?: boolean;
}

export interface Point {
  x: number;
  y: number;
  at_most?: number;
  spread?: [number, number];
  words: string;
  trial?: number;
  tester?: boolean;
}

export interface PlaneSeries {
  name: string;
  direction: Direction | null;
  kind: Kind | null;
  joined: boolean;
  points: Point[];
}

export interface Line {
  name: string;
  look: 'limit' | 'per_packet' | 'per_byte';
  points: [number, number][];
}

export interface Pane {
  y: Axis;
  series: PlaneSeries[];
  lines: Line[];
}

export interface Plane {
  type: 'plane';
  x: Axis;
  panes: Pane[];
  marked: [number, string][];
}

export interface SampleSeries {
  name: string;
  trial?: number;
  kind: Kind;
  count: number;
  range: [number, number];
  percentiles: [number, number][];
  bins: { low: number; factor: number; counts: number[] };
  mark?: [number, string];
  words: string;
}

export interface Samples {
  type: 'samples';
  name: string;
  show: Show;
  by: string;
  steps: number;
  series: SampleSeries[];
}

export interface Part {
  name: string;
  from: number;
  to: number;
  spread?: number;
  look: 'plain' | 'bad' | 'perhaps' | 'good' | 'open';
  words: string;
}

export interface Bar {
  label: string;
  trial?: number;
  words: string;
  parts: Part[];
}

export interface Bars {
  type: 'bars';
  axis: Axis;
  rows: Bar[];
}

export interface DelayCurve {
  label: string;
  binned: { counts: number[]; beyond: number };
  mean: number;
  three_sigma: number;
  median: number;
  largest: number;
}

export interface Delays {
  type: 'delays';
  title: string;
  kind: string;
  unit: { name: string; ps: number | null; places: number };
  bins: { low: number; width: number; count: number };
  curves: DelayCurve[];
}

export interface Work {
  from_ps: number;
  to_ps: number;
  critical: boolean;
  label: string;
  frame: string;
  words: string;
}

export interface Timeline {
  type: 'timeline';
  span_ps: number;
  period_ps: number;
  name: string;
  lanes: { name: string; busy_ratio: number; boxes: Work[] }[];
}

export interface FlameBar {
  name: string;
  depth: number;
  from: number;
  now: number;
  before: number;
}

export interface Flame {
  type: 'flame';
  name: string;
  whole: number;
  is_difference: boolean;
  bars: FlameBar[];
}

export interface Spans {
  type: 'spans';
  events: { name: string; about: string }[];
  rows: { name: string; parts: [number, number][]; words: string }[];
}

export type Picture = Plane | Samples | Bars | Delays | Timeline | Flame | Spans;

export interface PageData {
  commands: Partial<Record<string, string>>;
  /** For each trial the numbers of its notices, from 1. */
  flags: Partial<Record<string, number[]>>;
  notices: string[];
  pictures: Picture[];
}

/** The data of this page; null if it has none. */
export function read(): PageData | null {
  const text = document.getElementById('wirelab-data')?.textContent;
  return text ? (JSON.parse(text) as PageData) : null;
}
