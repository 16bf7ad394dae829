// Imports files with the importer of the speedscope npm package and prints what it understood, as JSON:
// [{"file","profiles":[{"name","unit","total","frames":{name: [self, total]}}]}].
// Usage: node speedscope_import.js RELEASE_DIRECTORY FILE...
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [release, ...files] = process.argv.slice(2);

// The package is a page: its importer stands in the page's script, which wants a browser. It gets one that agrees to
// everything and does nothing; what fails when the page is drawn comes after the importer was defined.
const agreeable = () => new Proxy(function () {}, {
  get: (target, key) => (key === Symbol.toPrimitive ? () => '' : key === 'then' ? undefined : agreeable()),
  apply: () => agreeable(),
  construct: () => agreeable(),
  set: () => true,
});
globalThis.window = globalThis;
for (const name of ['document', 'location', 'localStorage', 'navigator', 'matchMedia', 'addEventListener',
  'removeEventListener', 'requestAnimationFrame', 'HTMLElement', 'Image', 'history', 'devicePixelRatio']) {
  if (!(name in globalThis)) globalThis[name] = agreeable();
}
process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
const print = console.log;
console.log = console.error = console.warn = () => {};

const script = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
let source = fs.readFileSync(path.join(release, script), 'utf8');
const exported = /([\w$]+)=\{\};[\w$]+\(\1,\{importFromFileSystemDirectoryEntry:[^}]*\}\);/;
const found = exported.exec(source);
if (!found) {
  print('the importer was not found in ' + script);
  process.exit(1);
}
source = source.replace(exported, (match) => match + 'globalThis.importer=' + found[1] + ';');
try {
  vm.runInThisContext(source);
} catch {
  // The page could not be drawn.
}

function describe(profile) {
  const frames = {};
  profile.forEachFrame((frame) => {
    const [self, total] = frames[frame.name] || [0, 0];
    frames[frame.name] = [self + frame.getSelfWeight(), total + frame.getTotalWeight()];
  });
  return { name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalWeight(), frames };
}

// The page defines its parts when it is idle.
setTimeout(async () => {
  const results = [];
  for (const file of files) {
    const bytes = fs.readFileSync(file);
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    let group = null;
    try {
      group = await globalThis.importer.importProfilesFromArrayBuffer(path.basename(file), buffer);
    } catch (error) {
      print(file + ': ' + error);
      process.exit(1);
    }
    results.push({ file, profiles: group ? group.profiles.map(describe) : [] });
  }
  print(JSON.stringify(results));
  process.exit(0);
}, 200);
