// npm start: installs what is missing, then runs dev/main.ts in this same process.
import { checkNode, ensureInstalled, root } from './install.mjs'

checkNode()
await ensureInstalled()
process.chdir(root)
const { register } = await import('tsx/esm/api')
register()
await import('./main.ts')
