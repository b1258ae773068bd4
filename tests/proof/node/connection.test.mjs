import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Line, MODEL, answer, calls, client, text } from './line.mjs';

test('bad JSON', async (t) => {
  const line = new Line(t, 'planner');
  line.socket.sendRaw('{');
  assert.equal((await line.refusal('invalid_json')).status, 400);
  await line.alive();
});

test('an unknown type', async (t) => {
  const line = new Line(t, 'planner');
  line.send({ type: 'response.cancel', response_id: 'resp_1' });
  assert.equal((await line.refusal('invalid_value')).error.param, 'type');
  await line.alive();
});

test('an invalid stream_id', async (t) => {
  const line = new Line(t, 'planner');
  for (const name of ['', 'a b', 'x'.repeat(257)]) {
    line.create('Hi.', { stream_id: name });
    assert.equal((await line.refusal('invalid_stream_id')).stream_id, undefined);
  }
  await line.alive();
});

test('too many lanes', async (t) => {
  const line = new Line(t, 'planner');
  for (let number = 0; number < 32; number += 1) {
    await line.ask('Hi.', { stream_id: `agent_${number}`, generate: false });
  }
  line.create('Hi.', { stream_id: 'agent_32' });
  assert.equal((await line.refusal('websocket_stream_limit_reached')).stream_id, 'agent_32');
  await line.alive();
});

test('an unknown parent', async (t) => {
  const line = new Line(t, 'planner');
  line.create('Hi.', { previous_response_id: 'resp_abc', stream_id: 'main' });
  const refused = await line.refusal('previous_response_not_found');
  assert.equal(refused.stream_id, 'main');
  assert.equal(refused.error.message, "Previous response with id 'resp_abc' not found.");
  await line.alive();
});

test('a missing and a wrong tool output', async (t) => {
  const line = new Line(t, 'weather');
  const asked = await line.ask('What is the weather in Porto?');
  const [result] = calls(asked).map(answer);
  const parent = { previous_response_id: asked.id };
  line.create('Never mind.', parent);
  assert.match((await line.refusal(null)).error.message, /^No tool output found/);
  line.create([{ ...result, call_id: 'call_nobody' }], parent);
  await line.refusal(null);
  assert.match(text(await line.ask([result], parent)), /18 °C and dry/);
});

test('an error ends a response', async (t) => {
  const line = new Line(t, 'failures');
  line.create('credit_balance_exhausted');
  assert.equal((await line.refusal('credit_balance_exhausted')).status, 402);
});

test('a wrong key', async (t) => {
  const line = new Line(t, 'planner', { connection: { apiKey: 'sk-wrong' } });
  await assert.rejects(line.recv(), /401/);
});

test('a browser page', async (t) => {
  const line = new Line(t, 'planner', { headers: { Origin: 'https://example.com' } });
  await assert.rejects(line.recv(), /403/);
});

test('a wrong path', async (t) => {
  const baseURL = `${client('planner').baseURL}/x`;
  const line = new Line(t, 'planner', { connection: { baseURL } });
  await assert.rejects(line.recv(), /404/);
});

test('without an upgrade', async () => {
  const sdk = client('planner');
  await assert.rejects(sdk.responses.create({ model: MODEL, input: 'Hi.' }), { status: 426 });
});

test('compression', async (t) => {
  const line = new Line(t, 'planner', { perMessageDeflate: true });
  await line.alive();
});

function returning() {
  const codes = [];
  const onReconnecting = (event) => void codes.push(event.closeCode);
  return { codes, reconnect: { onReconnecting, initialDelay: 10 } };
}

test('the way back after a recoverable close', async (t) => {
  // 1005 is a close frame that names none, 1006 no close frame at all.
  for (const code of [1001, 1005, 1006, 1011, 1012, 1013]) {
    const { codes, reconnect } = returning();
    const line = new Line(t, 'hang up', { reconnect });
    const kept = await line.ask('Plan.');
    line.create(`${code}`, { previous_response_id: kept.id });
    await line.until('response.output_item.done');
    const reconnected = new Promise((resolve) => line.socket.on('reconnected', resolve));
    const next = line.until('response.created');
    await reconnected;
    line.create('Go on.', { previous_response_id: kept.id });
    assert.equal((await next).response.previous_response_id, kept.id);
    await line.end();
    assert.deepEqual(codes, [code]);
  }
});

test('no way back after another close', async (t) => {
  for (const code of [1000, 1002, 1003, 1007, 1008, 1009, 1010, 1014, 3000, 4999]) {
    const { codes, reconnect } = returning();
    const line = new Line(t, 'hang up', { reconnect });
    line.create(`${code}`);
    while (await line.recv());
    assert.equal(line.seen.at(-1).code, code);
    assert.deepEqual(codes, []);
  }
});

test('a way back that is not wanted', async (t) => {
  const line = new Line(t, 'hang up', { reconnect: { onReconnecting: () => ({ abort: true }) } });
  line.create('1012');
  while (await line.recv());
  assert.deepEqual([line.seen.at(-1).type, line.seen.at(-1).code], ['close', 1012]);
});

test('the way back is found at the second attempt', async (t) => {
  const { codes, reconnect } = returning();
  const line = new Line(t, 'one closed door', { reconnect });
  const reconnected = new Promise((resolve) => line.socket.on('reconnected', resolve));
  line.create('1012');
  await line.until('response.output_item.done');
  const next = line.until('response.completed');
  await reconnected;
  line.create('Go on.');
  assert.equal(text((await next).response), 'You said: Go on.');
  assert.deepEqual(codes, [1012, 1006]);
});

test('the way back is given up', async (t) => {
  const { codes, reconnect } = returning();
  const line = new Line(t, 'closed doors', { reconnect: { ...reconnect, maxRetries: 3 } });
  line.create('1012');
  await assert.rejects(async () => {
    while (await line.recv());
  }, /reconnect failed after 3 attempts/);
  assert.equal(codes.length, 3);
});

test('what is sent on the way back is not lost', async (t) => {
  const onReconnecting = () => void line.create('Go on.');
  const line = new Line(t, 'hang up', { reconnect: { onReconnecting, initialDelay: 10 } });
  line.create('1012');
  assert.equal(text(await line.end()), 'You said: Go on.');
});

test('a message that is too large', async (t) => {
  const { codes, reconnect } = returning();
  const line = new Line(t, 'small messages', { reconnect });
  await line.ask('Plan.');
  line.create('x'.repeat(10_000));
  while (await line.recv());
  assert.equal(line.seen.at(-1).code, 1009);
  assert.deepEqual(codes, []);
});

test('large messages both ways', async (t) => {
  const line = new Line(t, 'hang up');
  const words = 'x'.repeat(2 ** 21);
  assert.equal(text(await line.ask(words)), `You said: ${words}`);
});

test('the connection limit', async (t) => {
  const { codes, reconnect } = returning();
  const line = new Line(t, 'hour', { reconnect });
  const kept = await line.ask('Plan.');
  const reconnected = new Promise((resolve) => line.socket.on('reconnected', resolve));
  line.create('An hour passes.');
  await line.refusal('websocket_connection_limit_reached');
  const next = line.until('response.created');
  await reconnected;
  line.create('Go on.', { previous_response_id: kept.id });
  assert.equal((await next).response.previous_response_id, kept.id);
  await line.end();
  assert.deepEqual(codes, [1001]);
});
