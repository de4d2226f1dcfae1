/** The panel as its users know it: every part by its role and its name. */
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Locator, Page } from '@playwright/test';
import { expect } from '@playwright/test';
import type { ElasticServer, ICluster } from './server';
import { terminalText } from './terminals';

export const COMMAND_PALETTE_KEYS = 'ControlOrMeta+Shift+C';
export const PANEL_KEYS = 'ControlOrMeta+Shift+Y';

/** How wide the sidebar is when a person has just opened it, in px. */
const WIDTH = 300;

export class ElasticPage {
  constructor(
    readonly page: IJupyterLabPageFixture,
    private _server: ElasticServer
  ) {}

  get panel(): Locator {
    return this.page.getByRole('region', { name: 'Elastic', exact: true });
  }

  button(name: string | RegExp): Locator {
    return this.panel.getByRole('button', { name, exact: true });
  }

  get banner(): Locator {
    return this.panel.getByRole('alert');
  }

  get emptyText(): Locator {
    return this.panel.getByText('No training cluster yet.');
  }

  get form(): Locator {
    return this.panel.getByRole('form', { name: 'New cluster' });
  }

  get slider(): Locator {
    return this.panel.getByRole('slider');
  }

  get number(): Locator {
    return this.panel.getByRole('spinbutton', { name: 'Number of containers' });
  }

  /** The row of each container, without the rows that say why. */
  get rows(): Locator {
    return this.panel
      .getByRole('table')
      .getByRole('row')
      .filter({ has: this.page.getByRole('rowheader') });
  }

  section(name: string): Locator {
    return this.panel.getByRole('region', { name, exact: true });
  }

  get command(): Locator {
    return this.section('Launch').getByLabel('Command', { exact: true });
  }

  get dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  /** Show the panel by its tab, and wait until it knows the state. */
  async open(): Promise<void> {
    await this.page.getByRole('tab', { name: 'Elastic' }).click();
    await expect(this.panel).toBeVisible();
    await expect(this.panel.getByText('Reading the clusters…')).toHaveCount(0);
  }

  async openForm(): Promise<void> {
    await this.button('Create a cluster')
      .or(this.button('New cluster'))
      .first()
      .click();
    await expect(this.form).toBeVisible();
  }

  /** Fill in and send the form, and wait until all its containers run. */
  async create(options: {
    name: string;
    size?: number;
    script?: string;
    framework?: string;
  }): Promise<ICluster> {
    const { name, size = 2, script, framework } = options;
    await this.openForm();
    await this.form.getByLabel('Name', { exact: true }).fill(name);
    if (framework !== undefined) {
      await this.form
        .getByLabel('Framework')
        .selectOption({ label: framework });
    }
    await this.form.getByLabel('Containers').fill(String(size));
    if (script !== undefined) {
      await this.form.getByLabel('Script').fill(script);
    }
    await this.form
      .getByRole('button', { name: 'Create', exact: true })
      .click();
    await expect(this.form).toHaveCount(0);
    await this.expectRunning(size);
    return this._server.cluster();
  }

  /** The table shows `size` containers, all running, the launcher first. */
  async expectRunning(size: number): Promise<void> {
    await expect(this.rows).toHaveCount(size, { timeout: 30_000 });
    await expect(this.rows.filter({ hasText: 'Running' })).toHaveCount(size, {
      timeout: 30_000
    });
    await expect(this.rows.first()).toContainText('launcher');
  }

  /** Drag the slider's thumb to a size and let it go. */
  async drag(size: number): Promise<void> {
    await this.grab();
    await this.page.mouse.move(...(await this._at(size)), { steps: 8 });
    await this.page.mouse.up();
    await expect(this.slider).toHaveValue(String(size));
  }

  /** Press the mouse on the thumb, and keep it. */
  async grab(): Promise<void> {
    await this.slider.scrollIntoViewIfNeeded();
    await this.page.mouse.move(...(await this._at(await this.value())));
    await this.page.mouse.down();
  }

  /** Move the thumb that the mouse holds. */
  async pull(size: number): Promise<void> {
    await this.page.mouse.move(...(await this._at(size)), { steps: 8 });
  }

  async value(): Promise<number> {
    return Number(await this.slider.inputValue());
  }

  async scale(size: number): Promise<void> {
    await this.drag(size);
    await this.button('Apply').click();
  }

  /** Press the launch button and wait until the command stands in a terminal. */
  async launch(): Promise<string> {
    const text = await this.command.innerText();
    await this.button(/^launch /).click();
    await expect
      .poll(() => terminalText(this.page), { timeout: 20_000 })
      .toContain(text);
    return text;
  }

  /** Release the cluster by its button; returns what the question said. */
  async release(verb = 'Release'): Promise<string> {
    await this.button('Release').click();
    await expect(this.dialog).toBeVisible();
    const question = await this.dialog.innerText();
    await this.dialog.getByRole('button', { name: verb }).click();
    await expect(this.emptyText).toBeVisible({ timeout: 30_000 });
    return question;
  }

  /** Give the sidebar the width it has for most people. */
  async setWidth(width = WIDTH): Promise<void> {
    await this.page.sidebar.setWidth(width, 'left');
  }

  /** Where the middle of the thumb is at a size. */
  private async _at(size: number): Promise<[number, number]> {
    const box = await this.slider.boundingBox();
    if (box === null) {
      throw new Error('the slider cannot be seen');
    }
    const least = Number(await this.slider.getAttribute('min'));
    const most = Number(await this.slider.getAttribute('max'));
    const share = (size - least) / (most - least);
    const thumb = 16;
    return [
      box.x + thumb / 2 + (box.width - thumb) * share,
      box.y + box.height / 2
    ];
  }
}

/** Wait until the page is drawn again. */
export async function nextFrame(page: Page): Promise<void> {
  await page.evaluate(
    () => new Promise(resolve => requestAnimationFrame(() => resolve(null)))
  );
}
