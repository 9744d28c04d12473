// Values as text, as in the tables of a page.

import type { Axis, Show } from './data';

const PREFIXES: [number, string][] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];
const TIMES: [number, string][] = [
  [1e12, 's'],
  [1e9, 'ms'],
  [1e6, 'µs'],
  [1e3, 'ns'],
];

/** A number of at most so many significant digits, without trailing zeros. */
export function number(value: number, digits = 4): string {
  return String(Number(value.toPrecision(digits)));
}

/** A whole number in groups of three digits. */
export function integer(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, '\u00a0');
}

function scaled(value: number, units: [number, string][], least: string, digits: number): string {
  const size = Math.abs(value);
  const unit = units.find(([from]) => size >= from * 0.99995);
  const [from, name] = unit ?? [1, least];
  return `${number(value / from, digits)}${name && '\u00a0'}${name}`;
}

/** A share, 0 to 1: percent, or parts in a million and in a billion where percent would be all zeros. */
function share(value: number, digits: number): string {
  const size = Math.abs(value);
  if (size > 0 && size < 0.9e-7) return `${number(value * 1e9, digits)}\u00a0ppb`;
  if (size > 0 && size < 0.9e-5) return `${number(value * 1e6, digits)}\u00a0ppm`;
  return `${number(value * 100, digits)}\u00a0%`;
}

/** A value as on an axis. */
export function show(how: Show, value: number, digits = 4): string {
  switch (how) {
    case 'si':
      return scaled(value, PREFIXES, '', digits);
    case 'time':
      return value === 0 ? '0' : scaled(value, TIMES, 'ps', digits);
    case 'share':
      return share(value, digits);
    case 'integer':
      return integer(value);
  }
}

/** As many digits as distinguish all ticks of an axis. */
export function digitsOf(how: Show, ticks: number[]): number {
  const differ = (digits: number): boolean => new Set(ticks.map((at) => show(how, at, digits))).size === ticks.length;
  return [4, 5, 6, 7, 8, 9].find(differ) ?? 9;
}

/** Ticks of a logarithmic axis: powers of ten, and 2 and 5 times these if they are few. */
export function logTicks(low: number, high: number, wanted: number): number[] {
  const decades = Math.log10(high / low);
  if (decades < 0.8) return linearTicks(low, high, wanted);
  const every = Math.max(1, Math.ceil(decades / wanted));
  const factors = decades * 3 <= wanted + 1 ? [1, 2, 5] : [1];
  const out: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += every) {
    for (const factor of factors) {
      const value = Number(`${factor}e${power}`);
      if (value >= low * 0.999999 && value <= high * 1.000001) out.push(value);
    }
  }
  return out;
}

/** 1, 2 or 5 times a power of ten. */
function stepOf(low: number, high: number, wanted: number): number {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((s) => s * power >= rough * 0.999999) ?? 10) * power;
}

/** Ticks at such steps. */
export function linearTicks(low: number, high: number, wanted: number): number[] {
  const step = stepOf(low, high, wanted);
  const out: number[] = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); n += 1) {
    out.push(Number((n * step).toPrecision(12)));
  }
  return out;
}

/** The ends of an axis, such that all values fit and its ticks are round. */
export function range(axis: Axis, values: number[], wanted: number): { low: number; high: number; ticks: number[] } {
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (axis.log) {
    const low = least / 1.15;
    const high = Math.max(axis.high ?? most * 1.15, low * 1.6);
    return { low, high, ticks: logTicks(low, high, wanted) };
  }
  if (axis.high !== undefined) {
    return { low: 0, high: axis.high, ticks: linearTicks(0, axis.high, wanted) };
  }
  const room = (most - least || Math.abs(most) * 0.5 || 1) * 0.1;
  const low = axis.close ? (least < 0 ? least - room : Math.max(0, least - room)) : Math.min(0, least);
  // Without losses, a scale up to 1 % shows that.
  const top = low < 0 && !axis.close ? Math.max(0, most) : most;
  const span = top > low ? top - low : axis.show === 'share' ? 0.01 : 1;
  const step = stepOf(low, low + span * 1.05, wanted);
  const round = (n: number): number => Number((n * step).toPrecision(12));
  const [from, above] = [round(Math.floor(low / step)), round(Math.ceil((low + span * 1.02) / step))];
  // A share is at most 1.
  const to = axis.show === 'share' && !axis.close && low === 0 && most <= 1 ? Math.min(above, 1) : above;
  return { low: from, high: to, ticks: linearTicks(from, to, wanted) };
}
