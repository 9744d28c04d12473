// A figure: its picture, the description of the figure that a reader points at or steps to, and its downloads.

import { CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { DataZoomInsideComponent, GridComponent, LegendPlainComponent } from 'echarts/components';
import type { EChartsType } from 'echarts/core';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { bars } from './charts/bars';
import { delays } from './charts/delays';
import type { Drawing, Item, Room } from './charts/drawing';
import { flame } from './charts/flame';
import { plane } from './charts/plane';
import type { View } from './charts/samples';
import { samples, VIEWS } from './charts/samples';
import { spans } from './charts/spans';
import { timeline } from './charts/timeline';
import type { PageData, Picture, Samples } from './data';
import { button, copier, csv, element, save } from './dom';

use([CustomChart, LineChart, ScatterChart, DataZoomInsideComponent, GridComponent, LegendPlainComponent, SVGRenderer]);

/** A pointer within this distance selects a mark. */
const NEAR = 28;
/** A picture distinguishes this many series. */
const TOGETHER = 6;

/** The shown series of a distribution, and their view. */
interface Choice {
  view: View;
  /** The one series; null for all of them. */
  at: number | null;
}

export class Figure {
  private readonly plot = element('div', { class: 'plot', tabindex: '0', role: 'group' });
  private readonly hint = element('div', { class: 'hint', hidden: '' });
  private readonly cursor = element('div', { class: 'cursor', hidden: '' });
  private readonly said = element('p', { class: 'said', 'aria-live': 'polite' });
  private chart: EChartsType | null = null;
  private drawing: Drawing | null = null;
  private choice: Choice;
  private walked: [number, number] = [0, -1];
  private width = 0;

  constructor(
    home: HTMLElement,
    private readonly picture: Picture,
    private readonly page: PageData,
  ) {
    const many = picture.type === 'samples' && picture.series.length > TOGETHER;
    this.choice = { view: 'percentiles', at: many ? 0 : null };
    const caption = home.querySelector('figcaption');
    const instead = home.querySelector('.instead');
    const label = (caption?.textContent ?? 'Picture').trim();
    this.plot.setAttribute('aria-label', `${label} Arrow keys walk through its figures.`);
    if (instead) {
      instead.id = `${home.id}-words`;
      instead.classList.add('unseen');
      this.plot.setAttribute('aria-describedby', instead.id);
    }
    this.plot.append(this.cursor, this.hint);
    const tools = element('div', { class: 'tools' }, ...this.controls(), ...this.savers(label));
    caption?.after(tools, this.plot, this.said);
    this.listen();
    home.classList.add('drawn');
  }

  /** Draws the picture for a width in pixels, or for the available space. */
  draw(width = this.plot.clientWidth): void {
    if (width < 40) return;
    this.width = width;
    const room: Room = { width };
    this.drawing = this.drawn(room);
    this.plot.style.height = `${this.drawing.height}px`;
    if (this.chart) {
      this.chart.resize({ width, height: this.drawing.height });
    } else {
      const canvas = element('div', { class: 'canvas', 'aria-hidden': 'true' });
      this.plot.prepend(canvas);
      this.chart = init(canvas, null, { renderer: 'svg', width, height: this.drawing.height });
    }
    this.chart.setOption(this.drawing.option, { notMerge: true });
    // At once, and not with the next frame, because printing does not wait for one.
    this.chart.getZr().flush();
  }

  /** Whether the drawing takes the width of its container, as on paper, whose width is unknown to programs. */
  stretch(on: boolean): void {
    const svg = this.plot.querySelector('.canvas svg');
    if (on) svg?.setAttribute('viewBox', `0 0 ${this.width} ${this.drawing?.height ?? 0}`);
    else svg?.removeAttribute('viewBox');
  }

  /** Draws it again if its space has changed. */
  fit(): void {
    if (Math.abs(this.plot.clientWidth - this.width) > 1) this.draw();
  }

  /** Whether the picture was drawn. */
  get isDrawn(): boolean {
    return this.chart !== null;
  }

  private drawn(room: Room): Drawing {
    switch (this.picture.type) {
      case 'plane':
        return plane(this.picture, room);
      case 'samples':
        return samples(this.picture, this.chosen(this.picture), this.choice.view, room);
      case 'bars':
        return bars(this.picture, room);
      case 'delays':
        return delays(this.picture, room);
      case 'timeline':
        return timeline(this.picture, room);
      case 'flame':
        return flame(this.picture, room);
      case 'spans':
        return spans(this.picture, room);
    }
  }

  private chosen(of: Samples): Samples['series'] {
    const { at } = this.choice;
    return at === null ? of.series.slice(0, TOGETHER) : of.series.slice(at, at + 1);
  }

  /** The controls of a distribution: its views, and the series by load, size or trial. */
  private controls(): HTMLElement[] {
    const of = this.picture;
    if (of.type !== 'samples') return [];
    const views = VIEWS.map(([view, name]) => {
      const made = button(name, `Show as ${name}`, () => {
        this.choice.view = view;
        views.forEach((other) => {
          other.setAttribute('aria-pressed', String(other === made));
        });
        this.again();
      });
      made.setAttribute('aria-pressed', String(view === this.choice.view));
      return made;
    });
    const group = element('span', { class: 'views', role: 'group', 'aria-label': 'View' }, ...views);
    if (of.series.length < 2) return [group];
    return [group, this.slider(of)];
  }

  private slider(of: Samples): HTMLElement {
    const all = of.series.length <= TOGETHER;
    const first = all ? 0 : 1;
    const input = element('input', {
      type: 'range',
      min: String(first),
      max: String(of.series.length),
      value: String(first),
      step: '1',
      'aria-label': `Which ${of.by}`,
    });
    const shown = element('output');
    const tell = (): void => {
      const at = Number(input.value) - 1;
      const name = at < 0 ? `every ${of.by}` : (of.series[at]?.name ?? '');
      shown.textContent = name;
      input.setAttribute('aria-valuetext', name);
      this.choice.at = at < 0 ? null : at;
    };
    tell();
    input.addEventListener('input', () => {
      tell();
      this.again();
    });
    return element('label', { class: 'slider' }, `${of.by} `, input, shown);
  }

  private again(): void {
    this.walked = [0, -1];
    this.leave();
    this.draw(this.width || this.plot.clientWidth);
  }

  private savers(label: string): HTMLElement[] {
    const name = label.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 40);
    return [
      button('SVG', 'Save the picture as SVG', () => {
        save(`${name}.svg`, new Blob([this.svg()], { type: 'image/svg+xml' }));
      }),
      button('PNG', 'Save the picture as PNG', () => {
        void this.png().then((png) => {
          if (png) save(`${name}.png`, png);
        });
      }),
      button('CSV', 'Save the figures of the picture as CSV', () => {
        save(`${name}.csv`, new Blob([this.csv()], { type: 'text/csv' }));
      }),
    ];
  }

  /** The picture as a file of its own: the page's colours become fixed. */
  svg(): string {
    if (!this.chart) this.draw();
    const style = getComputedStyle(document.documentElement);
    const fixed = (text: string): string =>
      text.replace(/var\((--[a-z0-9]+)\)/g, (_, name: string) => style.getPropertyValue(name).trim());
    const svg = fixed(this.chart?.renderToSVGString() ?? '').replace(/<style[^]*?<\/style>/, '');
    return svg.replace(/>/, `><rect width="100%" height="100%" fill="${fixed('var(--paper)')}"/>`);
  }

  private async png(): Promise<Blob | null> {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.svg())}`;
    await image.decode();
    const canvas = element('canvas');
    canvas.width = 2 * this.width;
    canvas.height = 2 * (this.drawing?.height ?? 0);
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => {
      canvas.toBlob(done);
    });
  }

  private csv(): string {
    const [x, y] = this.drawing?.columns ?? ['x', 'y'];
    const all = (this.drawing?.items ?? []).flat();
    return csv([
      ['series', x, y, 'trial', 'words', 'command'],
      ...all.map((item) => [item.series, item.at[0], item.at[1], item.trial ?? '', item.words, this.command(item) ?? '']),
    ]);
  }

  private command(item: Item): string | undefined {
    return item.trial === undefined ? undefined : this.page.commands[String(item.trial)];
  }

  /** The errors of an item's trial, or the notices about it. */
  private noted(item: Item): HTMLElement[] {
    const places = item.trial === undefined ? [] : (this.page.flags[String(item.trial)] ?? []);
    return places.map((n) => element('span', { class: 'noted' }, this.page.notices[n - 1] ?? ''));
  }

  private place(item: Item): [number, number] {
    const at = this.chart?.convertToPixel({ gridIndex: item.grid }, item.at);
    return Array.isArray(at) ? [at[0] ?? 0, at[1] ?? 0] : [0, 0];
  }

  /** The distance of a place from an item; null if it does not select the item. */
  private distance(item: Item, x: number, y: number): number | null {
    const [across, up] = this.place(item);
    if (item.span) {
      const ends = item.span.map((at) => this.place({ ...item, at: [at, item.at[1]] })[0]);
      const [from = 0, to = 0] = ends;
      const inside = x >= from - 3 && x <= to + 3 && Math.abs(y - up) <= (item.tall ?? 24) / 2;
      return inside ? 0 : null;
    }
    const far = Math.hypot(x - across, y - up);
    return far <= NEAR ? far : null;
  }

  private nearest(x: number, y: number): [number, number] | null {
    let best: [number, number] | null = null;
    let least = Infinity;
    this.drawing?.items.forEach((series, s) => {
      series.forEach((item, i) => {
        const far = this.distance(item, x, y);
        if (far !== null && far < least) {
          least = far;
          best = [s, i];
        }
      });
    });
    return best;
  }

  private listen(): void {
    this.plot.addEventListener('pointermove', (event) => {
      const box = this.plot.getBoundingClientRect();
      const found = this.nearest(event.clientX - box.left, event.clientY - box.top);
      if (found) this.tell(found);
      else this.leave();
    });
    this.plot.addEventListener('pointerleave', () => {
      this.leave();
    });
    this.plot.addEventListener('keydown', (event) => {
      this.key(event);
    });
    this.plot.addEventListener('blur', () => {
      this.leave();
    });
  }

  private key(event: KeyboardEvent): void {
    const series = this.drawing?.items ?? [];
    const [s, i] = this.walked;
    const most = (series[s]?.length ?? 1) - 1;
    const to = (at: number, item: number): void => {
      const row = Math.min(Math.max(at, 0), series.length - 1);
      this.tell([row, Math.min(Math.max(item, 0), (series[row]?.length ?? 1) - 1)]);
    };
    switch (event.key) {
      case 'ArrowRight':
        if (i >= most && s < series.length - 1) to(s + 1, 0);
        else to(s, i + 1);
        break;
      case 'ArrowLeft':
        if (i <= 0 && s > 0) to(s - 1, Infinity);
        else to(s, i - 1);
        break;
      case 'ArrowDown':
        to(s + 1, i);
        break;
      case 'ArrowUp':
        to(s - 1, i);
        break;
      case 'Home':
        to(s, 0);
        break;
      case 'End':
        to(s, most);
        break;
      case 'Escape':
        this.leave();
        return;
      default:
        return;
    }
    event.preventDefault();
  }

  /** Describes a figure, at its place and below the picture. */
  private tell(at: [number, number]): void {
    const item = this.drawing?.items[at[0]]?.[at[1]];
    if (!item) return;
    this.walked = at;
    const [x, y] = this.place(item);
    this.cursor.hidden = false;
    this.cursor.style.left = `${x}px`;
    this.cursor.style.top = `${y}px`;
    this.hint.replaceChildren(item.words, ...this.noted(item));
    this.hint.hidden = false;
    const room = this.plot.clientWidth - this.hint.offsetWidth;
    this.hint.style.left = `${Math.max(0, Math.min(x + 12, room))}px`;
    this.hint.style.top = `${y + 14}px`;
    if (this.said.dataset['words'] === item.words) return;
    this.said.dataset['words'] = item.words;
    const command = this.command(item);
    this.said.replaceChildren(
      element('span', {}, item.words + (item.trial === undefined || item.words.startsWith('trial') ? '' : `; trial ${item.trial}`)),
      ...(command === undefined
        ? []
        : [' ', element('code', {}, command), ' ', copier('copy', 'Copy the command that repeats this figure', () => command)]),
      ...this.noted(item),
    );
  }

  private leave(): void {
    this.hint.hidden = true;
    this.cursor.hidden = true;
  }
}
