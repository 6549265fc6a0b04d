// A process that starts the child of a renderer, says its id and dies before that has loaded anything.
import { writeSync } from 'node:fs'
import { forkProcess } from '../../mail/content/pool/launch.ts'

const child = forkProcess({
  serialization: 'advanced',
  stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
})
writeSync(1, String(child.pid))
process.kill(process.pid, 'SIGKILL')
