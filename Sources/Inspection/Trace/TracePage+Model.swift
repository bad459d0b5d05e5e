// SPDX-License-Identifier: Apache-2.0

extension TracePage {
    /// The part of the script that reads the data: calls as trees on one axis of time, in seconds.
    static let model = #"""
        const $=id=>document.getElementById(id);
        const page=JSON.parse($("data").textContent);
        const state={open:new Map(),focus:null,details:null,aligned:false,isChosen:false,view:null,filter:""};
        let calls=[],rows=[];

        // Text of a peer becomes text of an element and nothing else.
        function el(tag,name,text){
          const e=document.createElement(tag);
          if(name)e.className=name;
          if(text!==undefined)e.textContent=text;
          return e;
        }
        function digits(v){return String(+v.toFixed(v<9.995?2:v<99.95?1:0))}
        // As Duration.text writes it.
        function time(s){
          const us=Math.max(s,0)*1e6;
          if(us<.5)return "0 s";
          if(us<999.5)return Math.round(us)+" µs";
          if(us<999500)return digits(us/1e3)+" ms";
          return digits(s)+" s";
        }
        function bytes(n){
          if(n<1024)return n+" B";
          let u="B";
          for(const next of["KiB","MiB","GiB","TiB"])if(n>=1024){n/=1024;u=next}
          return(n<9.95?n.toFixed(1):n.toFixed(0))+" "+u;
        }
        // Control characters and marks of direction could make a name look like another one.
        function clean(text){
          return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
            c=>"\\u{"+c.codePointAt(0).toString(16)+"}");
        }
        function outcome(s){
          if(s.status!==undefined&&s.outcome==="returned")return String(s.status);
          if(s.outcome==="failed")return clean(s.error);
          if(s.outcome===undefined)return "under way";
          return s.outcome==="returned"?"":s.outcome;
        }
        const isBad=s=>s.outcome==="failed"||s.outcome==="returned"&&s.status>=400;

        function read(traces){
          const begin=Math.min(...traces.map(t=>Date.parse(t.date)));
          return traces.map(t=>{
            const offset=(Date.parse(t.date)-begin)/1e3;
            let last=0;
            for(const s of t.spans)last=Math.max(last,s.start+(s.duration||0));
            const nodes=t.spans.map(s=>({trace:t,span:s,key:t.id+"/"+s.id,children:[],
              offset,start:s.start,end:s.start+(s.duration??Math.max(last-s.start,0))}));
            for(const n of nodes){
              const p=nodes[n.span.parent];
              if(p&&p!==n){p.children.push(n);n.parent=p}
            }
            for(const n of nodes){
              n.level=n.parent?n.parent.level+1:1;
              n.own=gaps(n);
              n.ownTime=n.own.reduce((sum,[a,b])=>sum+b-a,0);
            }
            return nodes[0];
          }).filter(n=>n);
        }
        // When none of the spans inside was under way.
        function gaps(n){
          const list=[];let at=n.start;
          for(const c of[...n.children].sort((a,b)=>a.start-b.start)){
            const from=Math.min(c.start,n.end);
            if(from>at)list.push([at,from]);
            at=Math.max(at,Math.min(c.end,n.end));
          }
          if(at<n.end)list.push([at,n.end]);
          return list;
        }
        function*inside(n){for(const c of n.children){yield c;yield*inside(c)}}

        // Where most calls would be dots on one axis.
        function areSparse(){
          const end=Math.max(...calls.map(c=>c.offset+c.end));
          const times=calls.map(c=>c.end).sort((a,b)=>a-b);
          return calls.length>1&&times[times.length>>1]<end*.05;
        }
        const shift=n=>state.aligned?0:n.offset;
        function whole(){
          // With room for the last bar, however short it is.
          return[0,1.01*Math.max(1e-6,...calls.map(c=>shift(c)+c.end))];
        }
        // Spans of a few calls are shown; of many calls, the calls alone.
        function isOpen(n){
          if(!n.children.length)return false;
          const chosen=state.open.get(n.key);
          if(chosen!==undefined)return chosen;
          return n.span.kind!=="exchange"&&(n.span.kind!=="call"||calls.length<=8);
        }
        function matches(call){
          const wanted=state.filter.toLowerCase();
          if(!wanted)return true;
          return[call,...inside(call)].some(n=>[n.span.name,n.span.error,n.span.message,n.trace.id,
            n.span.status,n.span.exchange&&n.span.exchange.url].some(text=>
            text!==undefined&&String(text).toLowerCase().includes(wanted)));
        }
        function visible(){
          const list=[];
          const add=n=>{list.push(n);if(isOpen(n))n.children.forEach(add)};
          calls.filter(matches).forEach(add);
          return list;
        }
        function ticks([from,to],count){
          let step=1e-9,factor=0;
          while((to-from)/step>=count){step*=factor++%3===1?2.5:2}
          const list=[];
          for(let at=Math.ceil(from/step-1e-9)*step;at<=to+step*1e-6;at+=step)list.push(at);
          return list;
        }

        """#
}
