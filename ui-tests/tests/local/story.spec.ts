/** The main job: create, see, launch, train, scale, train again, release. */
import * as fs from 'fs';
import * as path from 'path';
import { hostFolder } from '../../servers';
import { expect, test } from '../elastic';
import { hostLines, processes } from '../server';
import { terminalText, terminals } from '../terminals';

const IMAGES = path.resolve(__dirname, '../../../docs/images');

test('two containers train, then four, then all is given back', async ({
  elastic,
  page,
  server
}) => {
  test.setTimeout(240_000);
  await elastic.open();
  await expect(elastic.emptyText).toBeVisible();
  const cluster = await elastic.create({
    name: 'tthvd',
    script: 'tensorflow2_mnist.py'
  });
  const { hostfile } = cluster.hostfile;
  expect(hostfile).toBe(`${hostFolder}/hostfile`);
  expect(hostLines(hostfile)).toHaveLength(2);
  await expect(elastic.rows.nth(0)).toContainText('launcher');
  await expect(elastic.rows.nth(1)).toContainText('worker');

  const exact = `horovodrun -np 2 --hostfile ${hostfile} python tensorflow2_mnist.py`;
  await expect(elastic.command).toHaveText(exact);
  await expect(elastic.button('launch horovodrun')).toBeEnabled();
  expect(await elastic.launch()).toBe(exact);

  // It is typed once, and nothing runs: no second prompt, no child, no run.
  await page.waitForTimeout(1500);
  const [typed, ...others] = await terminals(page);
  expect(others).toEqual([]);
  expect(typed.lines.at(-1)?.endsWith(exact)).toBe(true);
  expect(typed.lines.join('\n').split(exact)).toHaveLength(2);
  expect([...processes('horovodrun', hostfile).values()]).toEqual([]);
  expect((await server.cluster()).runs).toEqual([]);

  await page.keyboard.press('Enter');
  await expect
    .poll(() => terminalText(page), { timeout: 120_000 })
    .toMatch(/accuracy 0\.\d+/);
  const first = await terminalText(page);
  expect(first).toContain('5000 samples on rank 0 of 2');
  expect(first).toContain('5000 samples on rank 1 of 2');
  await expect(elastic.section('Run')).toContainText('ended', {
    timeout: 10_000
  });
  expect((await server.cluster()).runs.map(run => run.exit)).toEqual([0]);

  await elastic.scale(4);
  await elastic.expectRunning(4);
  expect(hostLines(hostfile)).toHaveLength(4);
  await expect(elastic.command).toHaveText(exact.replace('-np 2', '-np 4'));
  await elastic.launch();
  await page.keyboard.press('Enter');
  await expect
    .poll(() => terminalText(page), { timeout: 150_000 })
    .toMatch(/accuracy 0\.\d+/);
  const second = await terminalText(page);
  for (const rank of [0, 1, 2, 3]) {
    expect(second).toContain(`2500 samples on rank ${rank} of 4`);
  }

  if (process.env.UPDATE_SHOTS) {
    await elastic.setWidth(320);
    await elastic.button('Release').scrollIntoViewIfNeeded();
    for (const theme of ['Light', 'Dark']) {
      await page.theme.setTheme(`JupyterLab ${theme}`);
      const name = `story-${theme.toLowerCase()}.png`;
      await page.screenshot({ path: path.join(IMAGES, name) });
    }
  }

  const names = (await server.cluster()).containers.map(one => one.name);
  const question = await elastic.release();
  expect(question).toContain('4 containers of tthvd go:');
  for (const name of names) {
    expect(question).toContain(name);
  }
  await expect(elastic.emptyText).toBeVisible();
  expect(await server.clusters()).toEqual([]);
  expect(fs.existsSync(hostfile)).toBe(false);
});
