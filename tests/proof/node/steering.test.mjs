import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Line, answer, calls, ends, text } from './line.mjs';

test('a steer has an automatic successor', async (t) => {
  const line = new Line(t, 'wait');
  const parent = await line.started('Plan a trip to Rome.', { stream_id: 'trip' });
  line.steer(parent.id, 'Keep it under 300 euros.');
  const accepted = await line.until('response.steer.accepted');
  assert.equal(accepted.steer.previous_response_id, parent.id);
  assert.equal(accepted.stream_id, 'trip');
  assert.deepEqual((await line.end()).incomplete_details, { reason: 'steered' });
  const created = await line.recv();
  assert.equal(created.type, 'response.created');
  assert.equal(created.response.previous_response_id, parent.id);
  assert.equal(text(await line.end()), 'Heard: Keep it under 300 euros.');
});

test('a pending steer goes on with the filled stubs', async (t) => {
  const line = new Line(t, 'seven');
  const parent = await line.ask('Audit the project.');
  line.steer(parent.id, 'Briefly.');
  await line.until('response.steer.accepted');
  const pending = await line.until('response.steer.pending');
  assert.equal(pending.reason, 'waiting_for_required_input');
  const results = calls(parent).map(answer);
  const filled = pending.required_input.map((stub, place) => ({ ...stub, ...results[place] }));
  assert.equal(filled.length, 7);
  const heard = await line.ask(filled, { previous_response_id: parent.id });
  assert.match(text(heard), /“Briefly.”/);
});

test('an early continuation needs no pending', async (t) => {
  const line = new Line(t, 'two');
  const parent = await line.started('What is the weather in Lisbon?');
  const { item } = await line.until('response.output_item.done');
  line.steer(parent.id, 'In Celsius.');
  await line.until('response.steer.accepted');
  line.create([answer(item)], { previous_response_id: parent.id });
  line.steer(parent.id, 'Briefly.');
  assert.equal((await line.end()).id, parent.id);
  let event;
  while (!ends((event = await line.recv()))) {
    assert.notEqual(event.type, 'response.steer.pending');
  }
  assert.equal(text(event.response), 'Heard: In Celsius. / Briefly. / 18 °C and dry');
});

test('a steer may show a picture', async (t) => {
  const line = new Line(t, 'wait');
  const parent = await line.started('Plan a trip to Rome.');
  const content = [
    { type: 'input_text', text: 'Like this:' },
    { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'low' },
  ];
  line.steer(parent.id, [{ type: 'message', role: 'user', content }]);
  await line.until('response.steer.accepted');
  await line.end();
  assert.equal(text(await line.end()), 'Heard: Like this: [image]');
});

test('several steers go into one successor', async (t) => {
  const line = new Line(t, 'weather');
  const parent = await line.ask('What is the weather in Porto?');
  for (const words of ['In Celsius.', 'And tomorrow?']) {
    line.steer(parent.id, words);
    await line.until('response.steer.pending');
  }
  const heard = await line.ask(calls(parent).map(answer), { previous_response_id: parent.id });
  assert.match(text(heard), /“In Celsius.”.*“And tomorrow[?]”/);
});

test('response_not_found', async (t) => {
  const line = new Line(t, 'planner');
  line.steer('resp_nobody', 'Hello?');
  const failed = await line.refusal('response_not_found');
  assert.deepEqual(failed.steer, { previous_response_id: 'resp_nobody', input: 'Hello?' });
});

test('invalid_input', async (t) => {
  const line = new Line(t, 'wait');
  const parent = await line.started('Plan.');
  line.steer(parent.id, '');
  await line.refusal('invalid_input');
  line.steer(parent.id);
  await line.end();
  assert.equal(text(await line.end()), 'Heard: Shorter.');
});

test('steering_not_supported', async (t) => {
  const line = new Line(t, 'wait');
  const parent = await line.started('Plan.', { model: 'gpt-5.6-sol' });
  line.steer(parent.id);
  await line.refusal('steering_not_supported');
});

test('too_many_pending_steers', async (t) => {
  const line = new Line(t, 'one steer');
  const parent = await line.ask('What is the weather in Porto?');
  line.steer(parent.id, 'One.');
  await line.until('response.steer.pending');
  line.steer(parent.id, 'Two.');
  assert.equal((await line.refusal('too_many_pending_steers')).steer.input, 'Two.');
});

test('response_already_completed', async (t) => {
  const line = new Line(t, 'planner');
  line.steer((await line.ask('Plan.')).id);
  await line.refusal('response_already_completed');
});

test('response_not_active', async (t) => {
  const line = new Line(t, 'failures');
  line.steer((await line.ask('server_error')).id);
  await line.refusal('response_not_active');
});

test('successor_creation_failed', async (t) => {
  const line = new Line(t, 'failures');
  const parent = await line.started('successor_creation_failed');
  await line.until('response.output_text.done');
  line.steer(parent.id, 'Go on.');
  const accepted = await line.until('response.steer.accepted');
  await line.end();
  const failed = await line.refusal('successor_creation_failed');
  assert.equal(failed.steer.id, accepted.steer.id);
  assert.equal(failed.steer.input, 'Go on.');
});
