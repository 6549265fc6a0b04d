// Writes the tables that come from code into README.md and docs/. `npm run docs` runs it.
import { pagePaths, readPage, withTables, writePage } from './pages.ts'

for (const path of pagePaths()) {
  const text = readPage(path)
  const filled = withTables(text)
  if (filled !== text) writePage(path, filled)
  console.log(`${path}${filled === text ? '' : ' written'}`)
}
