import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponsesWebSocketAccumulator } from 'openai/lib/responses/responses-websocket-accumulator';
import { Line, answer, calls, ends } from './line.mjs';

const COMPARE = 'Compare the weather in Rome and Paris.';
const TEAM = {
  model: 'gpt-5.6-sol',
  multi_agent: { enabled: true, max_concurrent_subagents: 2 },
};
const beta = { beta: true };

// Answer each scout as soon as it asks, and give all events.
async function run(line, fields = {}) {
  const response = await line.started(COMPARE, { ...TEAM, ...fields });
  const seen = [];
  for (;;) {
    const event = await line.recv();
    seen.push(event);
    if (event.type === 'response.output_item.done' && event.item.type === 'function_call') {
      line.inject(response.id, answer(event.item));
    }
    if (ends(event)) return seen;
  }
}

test('answers are injected while the other agents write', async (t) => {
  const line = new Line(t, 'agents', beta);
  const seen = await run(line, { stream_id: 'team' });
  const { response } = seen.at(-1);
  assert.equal(response.status, 'completed');
  const created = seen.filter((event) => event.type === 'response.inject.created');
  assert.deepEqual(
    created.map((event) => [event.response_id, event.stream_id]),
    Array(2).fill([response.id, 'team']),
  );
  const kinds = new Set(response.output.map((item) => item.type));
  for (const kind of ['multi_agent_call', 'multi_agent_call_output', 'agent_message']) {
    assert(kinds.has(kind), kind);
  }
  const last = response.output.at(-1);
  assert.deepEqual([last.agent.agent_name, last.phase], ['/root', 'final_answer']);
  assert.match(last.content[0].text, /Rome: “18 °C and dry”/);
});

test('the accumulator keeps the end of a response whose items it does not know', async (t) => {
  const line = new Line(t, 'agents', beta);
  const seen = await run(line);
  const accumulator = new ResponsesWebSocketAccumulator();
  for (const event of seen) {
    accumulator.add(event);
    if (event.item?.type === 'multi_agent_call') {
      assert.equal(accumulator.current.phase, 'unavailable');
    }
  }
  assert.deepEqual(accumulator.current, { phase: 'terminal', event: seen.at(-1) });
});

test('every event names its agent', async (t) => {
  const line = new Line(t, 'agents', beta);
  const seen = await run(line);
  for (const event of seen) {
    if (event.type !== 'response.inject.created') {
      assert.match(event.agent.agent_name, /^[/]root([/](rome|paris))?$/);
    }
  }
  const deltas = seen.filter((event) => event.type === 'response.output_text.delta');
  assert.equal(new Set(deltas.map((event) => event.agent.agent_name)).size, 3);
});

test('agents that wait are answered by a continuation', async (t) => {
  const line = new Line(t, 'waiting agents', beta);
  const asked = await line.ask(COMPARE, TEAM);
  assert.deepEqual(
    calls(asked).map((call) => call.agent.agent_name),
    ['/root/rome', '/root/paris'],
  );
  const parent = { previous_response_id: asked.id };
  const heard = await line.ask(calls(asked).map(answer), { ...TEAM, ...parent });
  assert.match(heard.output.at(-1).content[0].text, /“18 °C and dry”/);
});

test('an inject fails where nobody waits', async (t) => {
  const line = new Line(t, 'agents', beta);
  const late = { type: 'function_call_output', call_id: 'call_x', output: 'late' };
  line.inject('resp_nobody', late);
  await line.refusal('response_not_found');
  const { response } = (await run(line, { stream_id: 'team' })).at(-1);
  line.inject(response.id, late);
  const failed = await line.refusal('response_already_completed');
  assert.deepEqual([failed.response_id, failed.stream_id], [response.id, 'team']);
  assert.deepEqual(failed.input, [late]);
});

test('an answer to no call is refused and the agents go on', async (t) => {
  const line = new Line(t, 'agents', beta);
  const { id } = await line.started(COMPARE, TEAM);
  const results = [answer(await line.call()), answer(await line.call())];
  line.inject(id, results[0], { type: 'function_call_output', call_id: 'call_x', output: '?' });
  assert.equal((await line.refusal(null)).status, 400);
  for (const result of results) line.inject(id, result);
  assert.equal((await line.end()).status, 'completed');
});

test('several agents cannot be steered', async (t) => {
  const line = new Line(t, 'agents', beta);
  line.steer((await line.started(COMPARE, TEAM)).id);
  assert.equal((await line.refusal('steering_not_supported')).steer.input, 'Shorter.');
});

test('without the header there is no beta', async (t) => {
  const line = new Line(t, 'agents', { ...beta, headers: {} });
  line.create(COMPARE, TEAM);
  assert.equal((await line.refusal('unsupported_parameter')).error.param, 'multi_agent');
});
