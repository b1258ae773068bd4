import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponsesWebSocketSession } from 'openai/lib/responses/responses-websocket-session';
import { Line, MODEL, ends, expected, text } from './line.mjs';

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
