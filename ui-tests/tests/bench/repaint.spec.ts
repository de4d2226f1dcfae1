/** How long the panel takes from an event of the server to the picture of it; read by bench/panel.py. */
import type { Page } from '@playwright/test';
import * as fs from 'fs';
import { expect, test } from '../elastic';

const TURNS = 20;

interface IWatched extends Window {
  elasticEvents: number[];
  elasticPaints: number[];
}

/** Note when an event of ours arrives, from before the page opens its sockets. */
async function watchEvents(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const seen: number[] = [];
    (window as unknown as IWatched).elasticEvents = seen;
    const Original = window.WebSocket;
    window.WebSocket = class extends Original {
      constructor(url: string | URL, protocols?: string | string[]) {
        super(url, protocols);
        this.addEventListener('message', ({ data }) => {
          if (typeof data === 'string' && data.includes('jupyter-elastic')) {
            seen.push(performance.now());
          }
        });
      }
    };
  });
}

/** Note when the panel has been painted after a change of what it shows. */
async function watchPanel(page: Page): Promise<void> {
  await page.evaluate(() => {
    const paints: number[] = [];
    (window as unknown as IWatched).elasticPaints = paints;
    const panel = document.querySelector('.jp-ElasticPanel');
    if (panel === null) {
      throw new Error('there is no panel');
    }
    new MutationObserver(() =>
      // The frame that shows it comes after the callbacks of the next one.
      requestAnimationFrame(() =>
        setTimeout(() => paints.push(performance.now()))
      )
    ).observe(panel, { subtree: true, childList: true, characterData: true });
  });
}

test('event to picture', async ({ elastic, page, server }) => {
  test.setTimeout(180_000);
  const { id } = await server.create({ name: 'bench' });
  await watchEvents(page);
  await page.reload();
  await elastic.open();
  await elastic.expectRunning(2);
  await watchPanel(page);
  const taken: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    await page.waitForTimeout(300);
    await page.evaluate(() => {
      const watched = window as unknown as IWatched;
      watched.elasticEvents.length = 0;
      watched.elasticPaints.length = 0;
    });
    const size = 2 + ((turn + 1) % 2) * 2;
    await server.scale(id, size);
    await expect(elastic.rows).toHaveCount(size);
    await elastic.expectRunning(size);
    taken.push(
      await page.evaluate(() => {
        const { elasticEvents, elasticPaints } = window as unknown as IWatched;
        const first = elasticEvents[0];
        return Math.min(...elasticPaints.filter(at => at >= first)) - first;
      })
    );
  }
  fs.writeFileSync(process.env.ELASTIC_BENCH_OUT!, JSON.stringify(taken));
});
