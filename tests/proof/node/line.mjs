// The official Node SDK, and what every test of it needs. Told by SIMULATORS where each simulator
// is, by FIELDS what a request may say; writes to REFUSED, one a line, which refusals the tests
// expected.

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import OpenAI from 'openai';
import { ResponsesWebSocketAccumulator } from 'openai/lib/responses/responses-websocket-accumulator';
import { ResponsesWS as BetaResponsesWS } from 'openai/resources/beta/responses/ws';
import { ResponsesWS } from 'openai/resources/responses/ws';

const simulators = JSON.parse(process.env.SIMULATORS);

export const MODEL = 'gpt-6-astra';
const BETA = { 'OpenAI-Beta': 'responses_multi_agent=v1' };
const REFUSALS = ['error', 'response.steer.failed', 'response.inject.failed'];
const ENDS = ['response.completed', 'response.incomplete', 'response.failed'];

// Whether an event is the last one of its response.
export const ends = (event) => ENDS.includes(event.type);

// A stock client: it is told the base URL, and nothing else of where the simulator is.
export function client(name, options = {}) {
  const told = { baseURL: simulators[name], apiKey: process.env.KEY, maxRetries: 0 };
  return new OpenAI({ ...told, ...options });
}

// A refusal that the test expects: those that nobody expects fail the suite.
export function expected(code) {
  appendFileSync(process.env.REFUSED, `${JSON.stringify(code)}\n`);
}

// One connection, read by the SDK's own `stream()`. Every response is also built by the SDK's
// accumulator, which has to hold what the response's last event says before that comes; but in the
// beta, whose items this accumulator does not know.
export class Line {
  constructor(t, name, { connection, beta, ...options } = {}) {
    t.after(() => this.close());
    this.socket = beta
      ? new BetaResponsesWS(client(name, connection), { headers: BETA, ...options })
      : new ResponsesWS(client(name, connection), options);
    this.records = this.socket.stream();
    this.seen = []; // reconnecting, reconnected, close
    this.building = new Map();
    if (!beta) this.socket.on('event', (event) => this.#build(event));
  }

  async close() {
    this.socket.close();
    while (await this.records.next().then(({ done }) => !done, () => true));
  }

  // What the SDK sends by itself when it is open, its lanes refuse before.
  async opened() {
    const { socket } = this.socket;
    if (socket.readyState !== 1) await new Promise((resolve) => socket.on('open', resolve));
  }

  send(event) {
    this.socket.send(event);
  }

  create(input, fields = {}) {
    this.send({ type: 'response.create', model: MODEL, input, ...fields });
  }

  steer(id, input = 'Shorter.') {
    this.send({ type: 'response.steer', previous_response_id: id, input });
  }

  inject(id, ...input) {
    this.send({ type: 'response.inject', response_id: id, input });
  }

  // The next event, `error` events too; undefined when the connection is over.
  async recv() {
    for (;;) {
      // Not `for await`, which would end the stream with the first event that is returned.
      const { value: record, done } = await this.records.next();
      if (done) return undefined;
      if (record.type === 'message') return record.message;
      if (record.type === 'error') {
        if (record.error.error) return record.error.error;
        throw record.error;
      }
      this.seen.push(record);
    }
  }

  async until(...types) {
    for (;;) {
      const event = await this.recv();
      assert(event, `the connection ended before ${types}`);
      if (types.includes(event.type)) return event;
      assert(!REFUSALS.includes(event.type), JSON.stringify(event));
    }
  }

  async started(input, fields) {
    this.create(input, fields);
    return (await this.until('response.created')).response;
  }

  async call() {
    for (;;) {
      const { item } = await this.until('response.output_item.done');
      if (item.type === 'function_call') return item;
    }
  }

  async end() {
    return (await this.until(...ENDS)).response;
  }

  async ask(input, fields) {
    this.create(input, fields);
    return this.end();
  }

  // Read on to an `error` or a failed steer, which has this code.
  async refusal(code) {
    for (;;) {
      const event = await this.recv();
      assert(event, `the connection ended before ${code}`);
      if (REFUSALS.includes(event.type)) {
        assert.equal(event.error.code, code);
        expected(code);
        return event;
      }
    }
  }

  async alive() {
    assert.equal((await this.ask('Still there?')).status, 'completed');
  }

  #build(event) {
    const lane = event.stream_id;
    if (event.type === 'response.created') {
      this.building.set(lane, new ResponsesWebSocketAccumulator());
    }
    const accumulator = this.building.get(lane);
    if (!accumulator || /^(error$|response\.(steer|inject)\.)/.test(event.type)) return;
    if (ends(event)) {
      const { phase, snapshot } = accumulator.current;
      assert.equal(phase, 'provisional');
      assert(isDeepStrictEqual(snapshot.output, event.response.output), 'the accumulator differs');
      assert.equal(snapshot.output_text, text(event.response));
      this.building.delete(lane);
    }
    accumulator.add(event);
    if (ends(event)) assert.deepEqual(accumulator.current.event, event);
  }
}

// All that a response says.
export function text(response) {
  return response.output
    .filter((item) => item.type === 'message')
    .flatMap((item) => item.content.map((part) => part.text ?? ''))
    .join('');
}

// The calls that wait for the client.
export function calls(response) {
  return response.output.filter(
    ({ type }) =>
      (type.endsWith('_call') && type !== 'multi_agent_call') || type === 'mcp_approval_request',
  );
}

// Answer a call of any of the seven kinds.
export function answer(call) {
  const call_id = call.call_id;
  switch (call.type) {
    case 'function_call':
      return { type: 'function_call_output', call_id, output: '18 °C and dry' };
    case 'custom_tool_call':
      return { type: 'custom_tool_call_output', call_id, output: 'three hotels' };
    case 'computer_call':
      return {
        type: 'computer_call_output',
        call_id,
        output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
        acknowledged_safety_checks: call.pending_safety_checks,
      };
    case 'shell_call': {
      const outcome = { type: 'exit', exit_code: 0 };
      const output = call.action.commands.map(() => ({ stdout: 'fine', stderr: '', outcome }));
      return { type: 'shell_call_output', call_id, output };
    }
    case 'apply_patch_call':
      return { type: 'apply_patch_call_output', call_id, status: 'completed', output: '1 line' };
    case 'tool_search_call': {
      const parameters = { type: 'object', properties: { day: { type: 'string' } } };
      const tool = { type: 'function', name: 'find_events', parameters, strict: null };
      return { type: 'tool_search_output', call_id, execution: 'client', tools: [tool] };
    }
    case 'mcp_approval_request':
      return { type: 'mcp_approval_response', approval_request_id: call.id, approve: true };
    default:
      throw new Error(`no answer for ${call.type}`);
  }
}
