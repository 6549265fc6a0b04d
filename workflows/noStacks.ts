// Loaded before the workflow functions where production runs them: no stacks are taken, neither of promises nor of errors.

/**
 * The SDK takes the stack of each promise, for the call stack in the Web UI, and so a third of the time that workflow functions have. It
 * would say the same of every execution: these few functions wait, and which node for what stands in the memo and at the timer. From the
 * sources (`npm start`, tests, a replay) all stacks are there.
 *
 * Where the limit is no number V8 takes no stack (v8.dev/docs/stack-trace-api); with 0 it would still be asked to write one without lines.
 */
Reflect.deleteProperty(Error, 'stackTraceLimit')
