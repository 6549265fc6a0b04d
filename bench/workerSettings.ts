// The environment that is recommended for a worker that only delivers (docs/operating.md, Scaling).
import { availableParallelism } from 'node:os'

export const WORKER_SETTINGS = {
  UV_THREADPOOL_SIZE: String(Math.max(1, availableParallelism() - 1)),
  NODE_OPTIONS: '--max-semi-space-size=32',
}
