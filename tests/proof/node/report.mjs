// Tells the outcome of each test, one JSON line for each.

export default async function* report(source) {
  for await (const { type, data } of source) {
    if (!['test:pass', 'test:fail'].includes(type) || data.nesting > 0) continue;
    const cause = data.details.error?.cause ?? data.details.error;
    const error = type === 'test:fail' ? `${cause?.stack ?? cause}` : null;
    yield `${JSON.stringify({ name: data.name, seconds: data.details.duration_ms / 1000, error })}\n`;
  }
}
