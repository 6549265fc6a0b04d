// npm run bench: runs bench/main.ts on the line of Node that the image has, because what it measures is to run as in production.
// Another one is used with BENCH_NODE=/path/to/node.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/** The line in the Dockerfile, such as 24. */
function lineOfImage() {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  return /^FROM node:(\d+)-/m.exec(dockerfile)?.[1] ?? ''
}

/** The path of a Node of the image's line. Where none can be had, the present one, which the report names. */
function nodeOfImage() {
  const script = join(ROOT, 'dev', 'installNode.mjs')
  const { status, stdout } = spawnSync(process.execPath, [script, lineOfImage()], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status === 0) return stdout.trim()
  process.stderr.write(`This run is on Node ${process.versions.node}, and the image has another.\n`)
  return process.execPath
}

const node = process.env['BENCH_NODE'] || nodeOfImage()
const tsx = fileURLToPath(import.meta.resolve('tsx/cli'))
const main = join(ROOT, 'bench', 'main.ts')
const child = spawn(node, [tsx, main, ...process.argv.slice(2)], { stdio: 'inherit' })
// A terminal gives its signals to both; others are given on.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code, signal) => {
  process.exitCode = signal ? 130 : (code ?? 1)
})
