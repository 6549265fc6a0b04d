// Turns off stacks, of promises and of errors, where production runs workflow functions: the build (dev/build.mjs) loads it before these.

/**
 * The SDK takes the stack of each promise, for the call stack in the Web UI, which takes a third of the time of workflow functions. That
 * call stack would hardly differ between executions: at which node each waits, and for what, stands in its memo and at its timer. From the
 * sources (`npm start`, tests, a replay) all stacks are there.
 *
 * Where the limit is no number V8 takes no stack (v8.dev/docs/stack-trace-api); with 0 it would still be asked to write one without lines.
 */
Reflect.deleteProperty(Error, 'stackTraceLimit')
