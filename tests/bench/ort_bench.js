// ONNX Runtime as a peer of the benches: runs a model and says how long it took.
//
//   ISOTOME_ORT=DIR node ort_bench.js MODEL.onnx [--threads N] [--batch B] [--runs R] [NAME=INPUT.npy ...]
//   ISOTOME_ORT=DIR node ort_bench.js MODEL.onnx --serve ...
//
// DIR has node_modules/onnxruntime-node. Prints one line of JSON: {"ms": [each run], "base_bytes": resident before the
// model, "peak_bytes": resident at most, "version"}. The first run is not among them. With --serve it obeys lines of
// its input instead: "run N" answers "seconds S" (of N runs), "save F.npy" writes the first output and answers "saved".
// Inputs that are not given have the values of bench_values (bench.h); free sizes are B. Outputs are written into the
// same memory by every run, so that nothing is copied. With one thread the time is that of the processor in this
// process, else that on the wall.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');

const NPY_TYPES = { '<f4': 'float32', '<i8': 'int64', '<i4': 'int32', '|u1': 'uint8' };
const ARRAYS = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array, uint8: Uint8Array };

function load(ort, file) {
  const bytes = fs.readFileSync(file);
  const begin = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, begin);
  const type = NPY_TYPES[/'descr': *'([^']*)'/.exec(header)[1]];
  const dims = /'shape': *\(([^)]*)\)/.exec(header)[1].split(',').filter(d => d.trim() !== '').map(Number);
  if (type === undefined || header.includes('True')) throw new Error(`${file}: this kind of array is not read`);
  const data = bytes.buffer.slice(bytes.byteOffset + begin, bytes.byteOffset + bytes.length);
  return new ort.Tensor(type, new ARRAYS[type](data), dims);
}

function save(file, tensor) {
  const descr = Object.keys(NPY_TYPES).find(key => NPY_TYPES[key] === tensor.type);
  const shape = tensor.dims.map(dim => `${dim},`).join(' ');
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape}), }`;
  const header = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + '\n';
  const head = Buffer.from('\x93NUMPY\x01\x00\0\0', 'latin1');
  head.writeUInt16LE(header.length, 8);
  const { buffer, byteOffset, byteLength } = tensor.data;
  fs.writeFileSync(file, Buffer.concat([head, Buffer.from(header), Buffer.from(buffer, byteOffset, byteLength)]));
}

// The values of bench_values, rounded as there.
function values(ort, type, dims) {
  const array = new ARRAYS[type](dims.reduce((a, b) => a * b, 1));
  for (let i = 0; i < array.length; i++) {
    const step = (i * 7919) % 1009;
    if (type === 'float32') array[i] = Math.fround(step / 504.5) - 1;
    else array[i] = type === 'int64' ? BigInt(step) : step % 256;
  }
  return new ort.Tensor(type, array, dims);
}

function parse(argv) {
  const options = { threads: 1, batch: 1, runs: 1, serve: false, files: {}, model: undefined };
  for (let i = 0; i < argv.length; i++) {
    const name = argv[i].replace(/^--/, '');
    const cut = argv[i].indexOf('=');
    if (argv[i] === '--serve') options.serve = true;
    else if (name !== argv[i] && typeof options[name] === 'number') options[name] = Number(argv[++i]);
    else if (name === argv[i] && options.model === undefined) options.model = argv[i];
    else if (cut > 0) options.files[argv[i].slice(0, cut)] = argv[i].slice(cut + 1);
    else throw new Error(`what is '${argv[i]}'?`);
  }
  if (options.model === undefined) throw new Error('which model?');
  return options;
}

function feedsOf(ort, session, options) {
  const feeds = {};
  for (const input of session.inputMetadata) {
    const file = options.files[input.name];
    const dims = input.shape.map(dim => (typeof dim === 'number' && dim > 0 ? dim : options.batch));
    feeds[input.name] = file === undefined ? values(ort, input.type, dims) : load(ort, file);
  }
  return feeds;
}

async function serve(run, first) {
  console.log('ready');
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [verb, argument] = line.split(' ');
    if (verb === 'run') console.log(`seconds ${await run(Number(argument))}`);
    else if (verb === 'save') {
      save(argument, first());
      console.log('saved');
    } else throw new Error(`what is '${line}'?`);
  }
}

// As bench_clock of bench.h.
function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function wallSeconds() {
  return Number(process.hrtime.bigint()) / 1e9;
}

function peakBytes() {
  return 1024 * Number(/VmHWM:\s*(\d+)/.exec(fs.readFileSync('/proc/self/status', 'latin1'))[1]);
}

async function main() {
  const ort = require(path.resolve(process.env.ISOTOME_ORT || '.', 'node_modules', 'onnxruntime-node'));
  const options = parse(process.argv.slice(2));
  const base = process.memoryUsage().rss;
  const session = await ort.InferenceSession.create(options.model, {
    intraOpNumThreads: options.threads, interOpNumThreads: 1, executionMode: 'sequential', logSeverityLevel: 3,
  });
  const feeds = feedsOf(ort, session, options);
  const outputs = await session.run(feeds);
  const now = options.threads === 1 ? cpuSeconds : wallSeconds;
  const run = async times => {
    const begin = now();
    for (let i = 0; i < times; i++) await session.run(feeds, outputs);
    return now() - begin;
  };
  if (options.serve) {
    await serve(run, () => outputs[session.outputNames[0]]);
    return;
  }
  const ms = [];
  for (let i = 0; i < options.runs; i++) ms.push(Number(((await run(1)) * 1e3).toFixed(4)));
  const { version } = require(path.resolve(process.env.ISOTOME_ORT || '.', 'node_modules/onnxruntime-node/package.json'));
  console.log(JSON.stringify({ ms, base_bytes: base, peak_bytes: peakBytes(), version }));
}

main().catch(error => {
  console.error(`ort_bench: ${error.message}`);
  process.exit(1);
});
