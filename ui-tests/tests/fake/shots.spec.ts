/**
 * The panel at the width most people give it: nothing is cut off, in light and dark.
 *
 * With UPDATE_SHOTS=1 it also takes the pictures of the README.
 */
import * as path from 'path';
import { home } from '../../servers';
import type { ElasticPage } from '../elasticpage';
import { expect, test } from '../elastic';
import { OURS } from '../server';

const SCRIPT = 'tensorflow2_mnist.py';
const IMAGES = path.resolve(__dirname, '../../../docs/images');
const WIDTHS = [280, 320];

/** Parts of the panel that reach over its right edge, or are wider than their own box shows. */
async function cutOff(elastic: ElasticPage): Promise<string[]> {
  return elastic.panel.evaluate(panel => {
    const edge = panel.getBoundingClientRect().right + 1;
    return [...panel.querySelectorAll('button, input, select, h3, th, p')]
      .filter(node => !node.closest('.jp-sr-only'))
      .filter(node => node.getBoundingClientRect().right > edge)
      .map(node => node.outerHTML.slice(0, 120));
  });
}

/** Check the fit at each width, and take the picture at the last. */
async function shoot(elastic: ElasticPage, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await elastic.setWidth(width);
    expect.soft(await cutOff(elastic), `${name} at ${width} px`).toEqual([]);
  }
  if (process.env.UPDATE_SHOTS) {
    await elastic.page.mouse.move(900, 600);
    await elastic.panel.screenshot({
      path: path.join(IMAGES, `${name}.png`),
      animations: 'disabled'
    });
  }
}

/** Show the folders a user would have instead of those of this test. */
async function showUsualFolders(elastic: ElasticPage): Promise<void> {
  const folder = home('fake');
  await elastic.page.route(OURS, async route => {
    const response = await route.fetch();
    const body = (await response.text())
      .replace(new RegExp(`${folder}/r/[a-z0-9-]+`, 'g'), '/etc/mpi')
      .replaceAll(`${folder}/work/`, '/home/you/');
    await route.fulfill({ response, body });
  });
}

for (const theme of ['light', 'dark']) {
  test(`the form and the panel at work, ${theme}`, async ({
    elastic,
    page,
    server
  }) => {
    await page.theme.setTheme(
      theme === 'light' ? 'JupyterLab Light' : 'JupyterLab Dark'
    );
    if (process.env.UPDATE_SHOTS) {
      await showUsualFolders(elastic);
    }
    await elastic.open();
    await shoot(elastic, `empty-${theme}`);
    await elastic.openForm();
    await elastic.form.getByLabel('Name', { exact: true }).fill('tthvd');
    await elastic.form.getByLabel('Script').fill(SCRIPT);
    await expect(elastic.form).toContainText('All can start now');
    await shoot(elastic, `create-${theme}`);
    await elastic.form
      .getByRole('button', { name: 'Create', exact: true })
      .click();
    await elastic.expectRunning(2);
    const { id } = await server.cluster();
    await server.start(id);
    await expect(elastic.section('Run')).toContainText('running');
    await elastic.drag(4);
    await expect(elastic.panel).not.toContainText('Working out the plan');
    await shoot(elastic, `panel-${theme}`);
  });
}

test('the command and its button are seen without scrolling', async ({
  elastic,
  server
}) => {
  const { id } = await server.create({
    framework: 'horovod-elastic',
    script: SCRIPT
  });
  for (let ended = 0; ended < 2; ended++) {
    await server.start(id);
    await expect
      .poll(async () => (await server.cluster()).runs[0].state)
      .toBe('ended');
  }
  await elastic.open();
  await elastic.setWidth(WIDTHS[0]);
  await server.start(id);
  await expect(elastic.section('Run')).toContainText('running');
  await expect(elastic.section('Run')).toContainText('Past runs (1)');
  await expect(elastic.command).toBeInViewport({ ratio: 1 });
  await expect(elastic.button('launch horovodrun')).toBeInViewport({
    ratio: 1
  });
});
