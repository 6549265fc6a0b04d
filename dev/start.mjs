// npm start: installs what is missing, then runs dev/start/main.ts in this same process.
import { checkNode, checkSystem } from './machine.mjs'

checkNode()
checkSystem()

/** What it needs is imported only now: an old Node cannot even parse that. */
async function start() {
  const { ensureInstalled, root } = await import('./install.mjs')
  await ensureInstalled()
  process.chdir(root)
  const { register } = await import('tsx/esm/api')
  register()
  await import('./start/main.ts')
}

start().catch((err) => {
  process.stderr.write(`\nnpm start: ${err.message}\n`)
  process.exit(1)
})
