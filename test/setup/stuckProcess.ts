// A process with a thread inside one call that nothing can stop: it ends itself as the child of a renderer does.
import { Worker } from 'node:worker_threads'
import { killProcess } from '../../mail/content/pool/threads.ts'

const search = `
  const { parentPort } = require('node:worker_threads')
  const text = 'a'.repeat(600_000)
  parentPort.postMessage('begins')
  setImmediate(() => (text + text + text).includes(text + 'b' + text))`
const worker = new Worker(search, { eval: true })
worker.once('message', () => setTimeout(killProcess, 500))
