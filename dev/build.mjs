// npm run build: JavaScript for production in dist/, and the workflow bundle that workers load.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BUNDLE, buildFolder } from './buildFolder.mjs'
import { ensureInstalled, root, run } from './install.mjs'
import { checkNode } from './machine.mjs'

const PROGRESS_MS = 5_000

checkNode()
await ensureInstalled()
const { values } = parseArgs({
  options: {
    /** The folder to build into; it is emptied first. */
    out: { type: 'string', default: 'dist' },
    /** The same files in a third of the time, without a look at the types: for tests and benchmarks. */
    unchecked: { type: 'boolean', default: false },
  },
})
let dist
try {
  dist = buildFolder(root, values.out)
} catch (err) {
  process.stderr.write(`${err.message}\n`)
  process.exit(2)
}
const begin = Date.now()
const say = (line) => {
  process.stdout.write(`${((Date.now() - begin) / 1000).toFixed(1).padStart(5)} s  ${line}\n`)
}

rmSync(dist, { recursive: true, force: true })
say(`compiling TypeScript to ${values.out}/`)
const timer = setInterval(() => say('still compiling'), PROGRESS_MS)
const code = await run(process.execPath, [
  'node_modules/typescript/bin/tsc',
  ...['-p', 'tsconfig.build.json', '--outDir', dist],
  ...(values.unchecked ? ['--noCheck', '--noResolve'] : []),
])
clearInterval(timer)
if (code !== 0) process.exit(code)

say('bundling the workflow functions')
const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker')
const bundle = await bundleWorkflowCode({
  workflowsPath: join(root, 'workflows', 'index.ts'),
  preloadModules: [join(root, 'workflows', 'noStacks.ts')],
  logger: new DefaultLogger('WARN'),
})
writeFileSync(join(dist, BUNDLE), bundle.code)
say(`${values.out}/${BUNDLE}, ${Math.round(bundle.code.length / 1024)} KiB`)
say('done')
