// Events that nobody documents pass through, and harm nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Line, text } from './line.mjs';

const UNKNOWN = 'response.mood.changed';

test('an event of an unknown type', async (t) => {
  const line = new Line(t, 'murmur');
  const heard = [];
  line.socket.on(UNKNOWN, (event) => heard.push(event));
  line.create('Hello.', { stream_id: 'a' });
  const unknown = await line.until(UNKNOWN);
  assert.deepEqual([unknown.stream_id, unknown.mood], ['a', 'bright']);
  assert.equal(text(await line.end()), 'You said: Hello.');
  assert.deepEqual(heard, [unknown]);
});

test('response.done after the end', async (t) => {
  const line = new Line(t, 'done');
  for (let turn = 0; turn < 2; turn += 1) {
    const response = await line.ask('Plan.');
    const done = await line.recv();
    assert.equal(done.type, 'response.done');
    assert.deepEqual(done.response, response);
  }
});
