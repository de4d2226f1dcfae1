/** An open panel with nothing going on is quiet. */
import { expect, test } from '../elastic';
import { OURS } from '../server';

const MINUTE = 60_000;

test('an idle minute costs at most two requests', async ({
  elastic,
  page,
  server
}) => {
  test.setTimeout(2 * MINUTE);
  await server.create({ name: 'idle' });
  await elastic.open();
  await elastic.expectRunning(2);
  await page.waitForTimeout(5000);
  const asked: string[] = [];
  page.on('request', request => {
    if (OURS.test(request.url())) {
      asked.push(`${request.method()} ${new URL(request.url()).pathname}`);
    }
  });
  await page.waitForTimeout(MINUTE);
  expect(asked.length, asked.join('\n')).toBeLessThanOrEqual(2);
});
