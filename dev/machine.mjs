// Says in one sentence when Node or the system cannot run this. It must parse on any Node that knows modules.

const NODE_WANTED = [20, 19]

/** Exits when Node is too old to run any of this. */
export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const [wantedMajor, wantedMinor] = NODE_WANTED
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return
  refuse(
    `Dripline needs Node ${NODE_WANTED.join('.')} or newer, and this is ${process.versions.node}: ` +
      'install a newer one from nodejs.org or with your version manager.',
  )
}

/** Exits on a system for which there are no binaries of Temporal's SDK and of Postgres. */
export function checkSystem() {
  const system = { platform: process.platform, arch: process.arch, glibc: hasGlibc() }
  const problem = systemProblem(system)
  if (problem !== '') refuse(problem)
}

/** What stands against `{platform, arch, glibc}`, as one sentence; '' when nothing does. */
export function systemProblem(system) {
  const { platform, arch } = system
  if (platform === 'win32') {
    return 'npm start does not run on Windows itself: run it in WSL 2 (wsl --install), in a folder of the Linux side.'
  }
  if (platform !== 'linux' && platform !== 'darwin') {
    return `npm start runs on Linux and macOS, and this is ${platform}: use a Linux machine or container.`
  }
  if (arch !== 'x64' && arch !== 'arm64') {
    return `The Temporal SDK has binaries for x64 and arm64, and this Node is built for ${arch}: use another machine or Node.`
  }
  if (platform === 'linux' && !system.glibc) {
    return 'The Temporal SDK needs glibc, which this Linux (Alpine?) does not have: use Debian, Ubuntu, Fedora or an image such as node:24-slim.'
  }
  return ''
}

/** On Linux, whether Node runs on glibc; other C libraries leave the version out. */
function hasGlibc() {
  if (process.platform !== 'linux') return false
  const report = process.report.getReport()
  const { header } = typeof report === 'string' ? JSON.parse(report) : report
  return header.glibcVersionRuntime !== undefined
}

function refuse(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
