/** A script of the user's own grows and shrinks by the slider while it trains. */
import * as fs from 'fs';
import * as path from 'path';
import { home } from '../../servers';
import { expect, test } from '../elastic';
import { hostLines, processes } from '../server';
import { terminalText } from '../terminals';

const STEPS = 1_000_000;

interface IStep {
  step: number;
  size: number;
  pid: number;
}

/** Every step that rank 0 has written so far. */
function progress(file: string): IStep[] {
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  return text
    .split('\n')
    .slice(0, -1)
    .map(line => {
      const [step, size, pid] = line.split(' ').map(Number);
      return { step, size, pid };
    });
}

test('2, 4, 2 containers while it trains', async ({ elastic, page }) => {
  test.setTimeout(300_000);
  const file = path.join(home('local'), 'work', 'progress.txt');
  fs.rmSync(file, { force: true });
  const size = (): number => progress(file).at(-1)?.size ?? 0;
  await elastic.open();
  const cluster = await elastic.create({
    name: 'own',
    framework: 'Horovod elastic',
    script: 'own_elastic.py'
  });
  const { hostfile } = cluster.hostfile;
  const launch = elastic.section('Launch');
  await launch.getByLabel('Arguments').fill(`${STEPS} progress.txt`);
  await page.keyboard.press('Enter');
  await expect(elastic.command).toContainText('--host-discovery-script');
  await expect(elastic.command).toContainText(
    `python own_elastic.py ${STEPS} progress.txt`
  );
  await elastic.launch();
  await page.keyboard.press('Enter');
  await expect.poll(size, { timeout: 90_000 }).toBe(2);
  await expect(elastic.section('Run')).toContainText('own_elastic.py');
  await expect(elastic.panel).toContainText(/run 1–\d/);
  const launcher = [...processes('horovodrun', 'own_elastic.py').keys()];
  const { pid } = progress(file)[0];

  await elastic.scale(4);
  await elastic.expectRunning(4);
  await expect.poll(size, { timeout: 90_000 }).toBe(4);
  expect(hostLines(hostfile)).toHaveLength(4);

  // Within the range of the run a shrink asks nothing.
  await elastic.scale(2);
  await expect(elastic.dialog).toHaveCount(0);
  await expect.poll(size, { timeout: 90_000 }).toBe(2);
  await expect(elastic.rows).toHaveCount(2, { timeout: 60_000 });
  await elastic.expectRunning(2);
  expect(hostLines(hostfile)).toHaveLength(2);

  const steps = progress(file);
  const sizes = steps.map(one => one.size);
  expect(sizes.filter((one, index) => one !== sizes[index - 1])).toEqual([
    2, 4, 2
  ]);
  expect(new Set(steps.map(one => one.pid))).toEqual(new Set([pid]));
  const fallen = steps.filter(
    ({ step }, index) => index > 0 && step < steps[index - 1].step
  );
  expect(fallen).toEqual([]);
  const still = processes('horovodrun', 'own_elastic.py');
  expect(launcher.filter(one => !still.has(one))).toEqual([]);

  await elastic.section('Run').getByRole('button', { name: 'Stop' }).click();
  await expect(elastic.dialog).toContainText('own_elastic.py');
  await elastic.dialog.getByRole('button', { name: 'Stop' }).click();
  await expect(elastic.section('Run')).toContainText('stopped', {
    timeout: 30_000
  });
  await expect
    .poll(() => processes('own_elastic.py').size, { timeout: 30_000 })
    .toBe(0);
  expect(await terminalText(page)).toContain('own_elastic.py');
  await elastic.release();
});
