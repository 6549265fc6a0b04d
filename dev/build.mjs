// npm run build: JavaScript for production in dist/, and the workflow bundle that workers load.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkNode, ensureInstalled, root, run } from './install.mjs'

const PROGRESS_MS = 5_000

checkNode()
await ensureInstalled()
const begin = Date.now()
const say = (line) => {
  process.stdout.write(`${((Date.now() - begin) / 1000).toFixed(1).padStart(5)} s  ${line}\n`)
}

rmSync(join(root, 'dist'), { recursive: true, force: true })
say('compiling TypeScript to dist/')
const timer = setInterval(() => say('still compiling'), PROGRESS_MS)
const code = await run(process.execPath, [
  'node_modules/typescript/bin/tsc',
  '-p',
  'tsconfig.build.json',
])
clearInterval(timer)
if (code !== 0) process.exit(code)

say('bundling the workflow functions')
const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker')
const bundle = await bundleWorkflowCode({
  workflowsPath: join(root, 'workflows', 'index.ts'),
  logger: new DefaultLogger('WARN'),
})
writeFileSync(join(root, 'dist', 'workflows.bundle.js'), bundle.code)
say(`dist/workflows.bundle.js, ${Math.round(bundle.code.length / 1024)} KiB`)
say('done')
