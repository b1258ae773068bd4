import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Line, answer, calls, client, ends, text } from './line.mjs';

test('text comes in pieces', async (t) => {
  const line = new Line(t, 'planner');
  line.create('Plan a trip to Rome.');
  let said = '';
  let event;
  while (!ends((event = await line.recv()))) {
    if (event.type === 'response.output_text.delta') said += event.delta;
  }
  assert.equal(event.response.status, 'completed');
  assert.equal(said, text(event.response));
  assert(event.response.usage.output_tokens > 0);
});

test('listeners hear every event', async (t) => {
  const line = new Line(t, 'planner');
  const heard = [];
  let deltas = 0;
  line.socket.on('event', (event) => heard.push(event.type));
  line.socket.on('response.output_text.delta', () => (deltas += 1));
  await line.ask('Plan a trip to Rome.');
  assert.equal(heard[0], 'response.created');
  assert.equal(heard.at(-1), 'response.completed');
  assert.equal(deltas, heard.filter((type) => type === 'response.output_text.delta').length);
});

test('a conversation goes on', async (t) => {
  const line = new Line(t, 'planner');
  const first = await line.ask('Plan a trip to Rome.');
  const second = await line.ask('Under 300 euros.', { previous_response_id: first.id });
  assert.equal(second.previous_response_id, first.id);
  assert.match(text(second), /“Under 300 euros.”/);
});

test('every field of a request is accepted', async (t) => {
  const line = new Line(t, 'hang up');
  for (const [name, value] of Object.entries(JSON.parse(process.env.FIELDS))) {
    assert.equal((await line.ask('Hello.', { [name]: value })).status, 'completed', name);
  }
});

test('a warm-up generates nothing', async (t) => {
  const line = new Line(t, 'planner');
  const warm = await line.ask('Plan a trip to Rome.', { generate: false });
  assert.deepEqual(warm.output, []);
  const first = await line.ask('Begin.', { previous_response_id: warm.id });
  assert.equal(first.previous_response_id, warm.id);
});

test('padding is left out when it is not wanted', async (t) => {
  const line = new Line(t, 'planner');
  line.create('Plan.', { stream_options: { include_obfuscation: false } });
  assert(!('obfuscation' in (await line.until('response.output_text.delta'))));
  await line.end();
});

test('a response is refused, fails, or is cut', async (t) => {
  const line = new Line(t, 'failures');
  const refused = await line.ask('refusal');
  assert.equal(refused.output[0].content[0].refusal, 'I cannot help with that.');
  for (const code of ['server_error', 'rate_limit_exceeded', 'invalid_prompt']) {
    assert.equal((await line.ask(code)).error.code, code);
  }
  for (const reason of ['max_output_tokens', 'max_messages', 'content_filter']) {
    assert.deepEqual((await line.ask(reason)).incomplete_details, { reason });
  }
});

test('a stored response is retrieved', async (t) => {
  const line = new Line(t, 'planner');
  const response = await line.ask('Plan a trip to Rome.');
  const sdk = client('planner');
  const stored = await sdk.responses.retrieve(response.id);
  assert.deepEqual(stored.output, response.output);
  assert.equal(stored.output_text, text(response));
  const given = [];
  for await (const item of sdk.responses.inputItems.list(response.id)) given.push(item);
  assert.equal(given[0].content[0].text, 'Plan a trip to Rome.');
  await assert.rejects(sdk.responses.retrieve('resp_nobody'), { status: 404 });
});

const kinds = {
  weather: 'function_call',
  custom: 'custom_tool_call',
  computer: 'computer_call',
  shell: 'shell_call',
  patch: 'apply_patch_call',
  tools: 'tool_search_call',
  approval: 'mcp_approval_request',
};

test('tools of each kind are called and answered', async (t) => {
  for (const [name, kind] of Object.entries(kinds)) {
    await t.test(name, async (t) => {
      const line = new Line(t, name);
      let asked = await line.ask('Do it, in Porto.');
      assert(asked.output.some((item) => item.type === kind));
      while (calls(asked).length) {
        asked = await line.ask(calls(asked).map(answer), { previous_response_id: asked.id });
      }
      assert(text(asked));
    });
  }
});

test('seven calls are answered in one continuation', async (t) => {
  const line = new Line(t, 'seven');
  const asked = await line.ask('Audit the project.');
  assert.equal(new Set(calls(asked).map((call) => call.type)).size, 7);
  const heard = await line.ask(calls(asked).map(answer), { previous_response_id: asked.id });
  assert.equal(heard.status, 'completed');
});
