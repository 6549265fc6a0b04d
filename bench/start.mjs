// Starts bench/main.ts on the line of Node that the image has (npm run bench), so that what it measures runs as in production.
// BENCH_NODE=/path/to/node takes another.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
/** The code of a benchmark that could not measure. */
const NO_FIGURE = 3

/** The line in the Dockerfile, such as 24. */
function lineOfImage() {
  const line = /^FROM node:(\d+)-/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))?.[1]
  if (!line) throw new Error('the Dockerfile names no line of Node')
  return line
}

/** The path of a Node of that line: the present one, or one that is fetched once. */
function nodeOfImage() {
  const line = lineOfImage()
  const script = join(ROOT, 'dev', 'installNode.mjs')
  const { status, stdout } = spawnSync(process.execPath, [script, line], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status === 0) return stdout.trim()
  throw new Error(`the image has Node ${line}; with BENCH_NODE=/path/to/node another one measures`)
}

function start() {
  const asked = process.argv.slice(2)
  // Without a name it only prints how it is used.
  const node = process.env['BENCH_NODE'] || (asked.length === 0 ? process.execPath : nodeOfImage())
  const main = join(ROOT, 'bench', 'main.ts')
  const child = spawn(node, ['--import', 'tsx', main, ...asked], { stdio: 'inherit', cwd: ROOT })
  // A terminal sends its interrupt to both, and the child stops its servers first.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('error', fail)
  child.on('exit', (code) => {
    process.exitCode = code ?? NO_FIGURE
  })
}

function fail(err) {
  process.stderr.write(`npm run bench: ${err.message}\n`)
  process.exitCode = NO_FIGURE
}

try {
  start()
} catch (err) {
  fail(err)
}
