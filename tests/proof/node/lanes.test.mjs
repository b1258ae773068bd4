import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponsesWebSocketSession } from 'openai/lib/responses/responses-websocket-session';
import { Line, MODEL, answer, calls, ends, expected, text } from './line.mjs';

const names = ['a', 'b', 'c', 'd'];
const limits = { maxLanes: 8, maxBufferedEvents: 16384, maxBufferedBytes: 2 ** 26 };

test('four lanes run at once', async (t) => {
  const line = new Line(t, 'planner');
  for (const name of names) line.create(`Plan ${name}.`, { stream_id: name });
  const order = [];
  const ended = new Map();
  while (ended.size < names.length) {
    const event = await line.recv();
    order.push(event.stream_id);
    if (ends(event)) ended.set(event.stream_id, event.response);
  }
  const changes = order.filter((name, place) => place && name !== order[place - 1]).length;
  assert(changes > 16);
  for (const name of names) {
    assert(JSON.stringify(ended.get(name).output).includes(`Plan ${name}.`));
  }
});

test('the seventeenth waits without an error', async (t) => {
  const line = new Line(t, 'patient');
  for (let number = 0; number < 18; number += 1) {
    line.create('Plan.', { stream_id: `agent_${number}` });
  }
  const running = [];
  while (running.length < 16) running.push((await line.until('response.created')).response);
  for (const { id } of running) line.steer(id);
  let most = 16;
  for (let now = 16, ended = 0; ended < 18; ) {
    const event = await line.recv();
    if (event.type === 'response.created') {
      now += 1;
      if (!event.response.previous_response_id) line.steer(event.response.id);
    }
    if (ends(event)) now -= 1;
    if (event.type === 'response.completed') ended += 1;
    most = Math.max(most, now);
  }
  assert.equal(most, 16);
});

test('one lane keeps its order', async (t) => {
  const line = new Line(t, 'hang up');
  const words = ['one', 'two', 'three'];
  for (const word of words) line.create(word, { stream_id: 'a' });
  for (const word of words) assert.equal(text(await line.end()), `You said: ${word}`);
});

test('the lane helper gives four final responses', async (t) => {
  const line = new Line(t, 'planner');
  await line.opened();
  const session = new ResponsesWebSocketSession(line.socket, limits);
  const lanes = names.map((name) => session.lane(name));
  const rest = session.lane();
  for (const lane of lanes) lane.create({ model: MODEL, input: `Plan ${lane.streamID}.` });
  rest.create({ model: MODEL, input: 'Plan the rest.' });
  for (const lane of [...lanes, rest]) {
    const response = await lane.finalResponse();
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text, text(response));
    assert(JSON.stringify(response.output).includes(`Plan ${lane.streamID ?? 'the rest'}.`));
  }
  session.close();
});

test('the lane helper sees the successor', async (t) => {
  const line = new Line(t, 'wait');
  await line.opened();
  const session = new ResponsesWebSocketSession(line.socket, limits);
  const lane = session.lane('trip');
  lane.create({ model: MODEL, input: 'Plan a trip to Rome.' });
  line.steer((await lane.receive()).response.id);
  assert.deepEqual((await lane.finalResponse()).incomplete_details, { reason: 'steered' });
  assert.equal((await lane.finalResponse()).output_text, 'Heard: Shorter.');
  session.close();
});

test('the lane helper rejects with the error of its lane', async (t) => {
  const line = new Line(t, 'planner');
  await line.opened();
  const session = new ResponsesWebSocketSession(line.socket, limits);
  const lane = session.lane('a');
  const other = session.lane('b');
  other.create({ model: MODEL, input: 'Plan.' });
  lane.create({ model: MODEL, input: 'On.', previous_response_id: 'resp_nobody' });
  await assert.rejects(lane.finalResponse(), (error) => {
    return error.error.error.code === 'previous_response_not_found';
  });
  expected('previous_response_not_found');
  assert.equal((await other.finalResponse()).status, 'completed');
  session.close();
});

test('the lane helper leaves a second create to the service', async (t) => {
  const line = new Line(t, 'hang up');
  await line.opened();
  const session = new ResponsesWebSocketSession(line.socket, limits);
  const lane = session.lane('a');
  for (const input of ['one', 'two']) lane.create({ model: MODEL, input });
  assert.equal((await lane.finalResponse()).output_text, 'You said: one');
  assert.equal((await lane.finalResponse()).output_text, 'You said: two');
  session.close();
});

test('the lane helper refuses names that the service would', async (t) => {
  const line = new Line(t, 'planner');
  await line.opened();
  const session = new ResponsesWebSocketSession(line.socket, limits);
  for (const name of ['', 'a b', 'x'.repeat(257)]) {
    assert.throws(() => session.lane(name), /Invalid Responses WebSocket stream ID/);
  }
  session.close();
});

test('the lane helper goes on with what a pending steer asks for', async (t) => {
  const line = new Line(t, 'seven');
  await line.opened();
  const session = new ResponsesWebSocketSession(line.socket, limits);
  const lane = session.lane('audit');
  lane.create({ model: MODEL, input: 'Audit the project.' });
  const asked = await lane.finalResponse();
  line.steer(asked.id, 'Briefly.');
  assert.equal((await lane.receive()).type, 'response.steer.accepted');
  const pending = await lane.receive();
  assert.equal(pending.stream_id, 'audit');
  const results = calls(asked).map(answer);
  const input = pending.required_input.map((stub, place) => ({ ...stub, ...results[place] }));
  lane.create({ model: MODEL, input, previous_response_id: asked.id });
  assert.match((await lane.finalResponse()).output_text, /“Briefly.”/);
  session.close();
});

test('the lanes of the helper end on the way back', async (t) => {
  const codes = [];
  const onReconnecting = (event) => void codes.push(event.closeCode);
  const line = new Line(t, 'hang up', { reconnect: { onReconnecting, initialDelay: 10 } });
  await line.opened();
  const session = new ResponsesWebSocketSession(line.socket, limits);
  const lane = session.lane('a');
  const reconnected = new Promise((resolve) => line.socket.on('reconnected', resolve));
  lane.create({ model: MODEL, input: '1012' });
  await assert.rejects(lane.finalResponse(), /must be restored explicitly/);
  await reconnected;
  assert.throws(() => lane.create({ model: MODEL, input: 'Go on.' }), /must be restored explicitly/);
  const again = session.lane('a');
  again.create({ model: MODEL, input: 'Go on.' });
  assert.equal((await again.finalResponse()).output_text, 'You said: Go on.');
  assert.deepEqual(codes, [1012]);
  session.close();
});
